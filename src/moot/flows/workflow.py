"""A workflow: a brainstorm, then every batch planned, reviewed, built and reassessed, one after the other.

Everything that is asked of the world, for those who perform it (the state that they get is a WorkflowState):

    CarryOut.what              gives back (CarriedOut.value)                   done twice = done once, because
    workflow/scout             output, read[], cost_usd?                       it only looks
    brainstorm/board           text, cost_usd?          (state.brainstorm.request.text is the question)
    brainstorm/roundtable      text, cost_usd?          (likewise)
    workflow/queue             {}                       workflow_snapshot.queue_change(state) says what
    workflow/leave-queue       {}                       drops state.id from the queue, if it is there
    workflow/design            path                     workflow_papers.design_document(state)
    workflow/plan              change_id, cost_usd?     workflow_papers.change_id(state), .planner_brief(state)
    workflow/review            verdict, summary, high, medium, cost_usd?     a challenge of state.batch.change_id
    workflow/revise            cost_usd?                a reproposal, with state.wishes
    workflow/execute           complete, message, tasks_done, tasks, cost_usd?
    workflow/finalize          waiting[]                titles of what is in the queue
    workflow/next              workflow (the first queue entry, left there), or {} if the queue is empty

    DraftReply.prompt          brainstorm/{triage,questions,approaches,design},
                               brainstorm/discuss-{triage,questions,approaches,design}, brainstorm/revise,
                               workflow/reassess: all in prompting.brainstorm.DRAFTS

    AskPerson.step             keys (letters in either case; or the first word of the option's label)
    triage                     A agree, Q/E/C override with straightforward/exploration/complex, K keep whole,
                               D discuss, O Board, T roundtable, S skip to planning, X stop
    questions                  1… (`1 TEXT` answers at once), D, B back, O, T, S done, X
    answer                     words, or the number of an option; B back to the list; X
    approaches                 1…, A the recommended one, D, B, O, T, S (as A), X
    design                     A approve, R revise, D, P previous section, B, O, T, S approve all, X
    comment                    words for D, R, O or T; B back to the menu; X        (`D TEXT` does it at once)
    verdict                    R revise once more (`R TEXT`: with wishes), X stop
    open-tasks                 R try the open tasks again, X
    reassess                   A continue, D adjust scope, K keep the plan, X stop here
    next                       A begin the next of the queue; optional: leaving it ends the run
    failed                     R retry, B without it (where that can be), X abort: saved and stopped

Events for commands to put: WorkflowOpened to begin, Restored for what is in workflow.json, Resumed after Stopped.
"""
