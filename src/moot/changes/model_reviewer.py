"""A configured model as reviewer, with the same tools in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from moot.agents import Job, Outcome
from moot.changes import costs, prompts
from moot.changes.folder import DESIGN
from moot.changes.review_tools import ReviewInput, ReviewTools
from moot.errors import DraftInvalid, ModelTooSmall, ReplyEmpty, ReviewerTimedOut
from moot.llm.messages import ModelSaid, Reply, ToolFault, UserSaid
from moot.llm.model import Model
from moot.llm.names import ModelName

ASKS_TOKENS = 400
"""Of a turn that only asks for files."""


class ModelReviewer:
    """A model that has no use of tools, as weights on this machine, gets the files in its prompt and answers
    by schema; the block is written by `append_review` all the same. `tools` makes those of a run."""

    name = "model"

    def __init__(
        self, model: Model, tools: Callable[[str], ReviewTools], known: prompts.Known = prompts.NOTHING
    ) -> None:
        self._model = model
        self._tools = tools
        self._known = known

    @property
    def model_name(self) -> ModelName:
        return self._model.name

    async def review(self, job: Job, progress: Callable[[str], None]) -> Outcome:
        began = time.monotonic()
        try:
            async with asyncio.timeout(job.timeout):
                local = self._model.name.is_local
                # Of each attempt its own: another conversation has read nothing yet.
                tools = self._tools(job.run)
                reply = await (
                    self._by_schema(job, tools, progress) if local else self._with_tools(job, tools, progress)
                )
        except TimeoutError as error:
            raise ReviewerTimedOut(self.name, f"no review within {job.timeout:g} s") from error
        took = round((time.monotonic() - began) * 1000)
        if reply is None:
            return Outcome(str(self._model.name), "", took)
        return Outcome(reply.model, reply.text, took, reply.usage, reply.cost_usd, left_out=reply.left_out)

    async def _with_tools(
        self, job: Job, tools: ReviewTools, progress: Callable[[str], None]
    ) -> Reply | None:
        design = tools.give(DESIGN).get(DESIGN, "")
        texts = tools.texts()
        request = prompts.review_with_tools(job.change_id, tools.tools(), texts, design, self._known)
        request = replace(request, remind=lambda: "" if tools.has_appended() else prompts.reminder())
        # It asks for all of the change first, and appends its review when it has read it.
        asks = replace(request, max_tokens=ASKS_TOKENS)
        read = replace(request, messages=(*request.messages, UserSaid("\n".join(texts.values()))))
        await costs.foretell([asks, read], self._model, progress)
        try:
            return await self._model.stream(request)
        except ReplyEmpty:
            # It has ended without a word. That there is no review is seen in the file.
            return None

    async def _by_schema(self, job: Job, tools: ReviewTools, progress: Callable[[str], None]) -> Reply:
        """A review that contradicts itself is returned once, with the reason."""

        def append(given: ReviewInput) -> None:
            tools.append_review(
                given.verdict, given.issues, given.summary, given.coverage, given.dispositions
            )

        texts = tools.give()
        if (size := sum(map(len, texts.values()))) > prompts.ROOM:
            problem = f"the change has {size:,} characters, and it can be given {prompts.ROOM:,} at most"
            raise ModelTooSmall(str(self._model.name), problem)
        progress("reads the change's files in its prompt")
        request = prompts.review_without_tools(job.change_id, texts, self._known)
        drafted = await self._model.draft(request, ReviewInput)
        try:
            append(drafted.value)
        except ToolFault as refused:
            correction = UserSaid(f"That review cannot be taken: {refused}. Give it again, corrected.")
            messages = (*request.messages, ModelSaid(drafted.reply.text), correction)
            drafted = await self._model.draft(replace(request, messages=messages), ReviewInput)
            try:
                append(drafted.value)
            except ToolFault as twice:
                raise DraftInvalid("review", str(twice), drafted.reply.text) from twice
        return drafted.reply
