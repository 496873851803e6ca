"""What others wrote in a file survives an update of something else in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from moot.errors import FileDamaged, InvalidInput, LockTimeout, NotFound
from moot.files import atomic
from moot.files.documents import JsonDocument, YamlDocument
from moot.files.yaml_text import YamlText

Data = MutableMapping[str, Any]

STATE = """\
# kept by agentd
change_id: add-login   # as in the folder
schema_version: "2.0"
created_at: 2026-06-15T08:00:00.123456789Z

# Every call is here.
calls:
  - {step: challenge, cost_usd: 0.10}
  - step: reproposal  # second
    cost_usd: 0.123456
    # a thought
    note: 'single'
# where it stands
phase: 'proposed'
theirs:
    odd:   [1,2,   3]
    text: |
      # not a comment
# the end
"""


@pytest.fixture
def yaml_file(tmp_path: Path) -> Path:
    path = tmp_path / "STATE.yaml"
    path.write_text(STATE, encoding="utf-8")
    return path


def json_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "meta.json"
    path.write_bytes(text.encode())
    return path


def setting(**values: Any) -> Callable[[Data], None]:
    return lambda data: data.update(values)


def nothing(_: Data) -> None:
    pass


# -- YAML ----------------------------------------------------------------------------------------


def test_only_the_lines_of_a_changed_entry_change(yaml_file: Path) -> None:
    YamlDocument.update(yaml_file, setting(phase="challenged"))
    assert yaml_file.read_text(encoding="utf-8") == STATE.replace("'proposed'", "'challenged'")


def test_an_entry_changed_inside_keeps_its_comments_and_numbers(yaml_file: Path) -> None:
    YamlDocument.update(yaml_file, lambda data: data["calls"].append({"step": "implement", "cost_usd": None}))
    expected = STATE.replace(
        "    note: 'single'\n", "    note: 'single'\n  - step: implement\n    cost_usd: null\n"
    ).replace("0.10", "0.1")
    assert yaml_file.read_text(encoding="utf-8") == expected


def test_replacing_a_list_keeps_the_comment_above_the_next_key(yaml_file: Path) -> None:
    YamlDocument.update(yaml_file, setting(calls=[]))
    before, after = STATE.split("calls:\n")
    expected = before + "calls: []\n" + after[after.index("# where it stands") :]
    assert yaml_file.read_text(encoding="utf-8") == expected


def test_new_entries_come_last_and_deleted_ones_go(yaml_file: Path) -> None:
    def change(data: Data) -> None:
        del data["theirs"]
        data["verdict"] = {"is": "APPROVED", "by": ["a", "b"]}

    YamlDocument.update(yaml_file, change)
    expected = STATE[: STATE.index("theirs:")] + (
        "# the end\nverdict:\n    is: APPROVED\n    by:\n      - a\n      - b\n"
    )
    assert yaml_file.read_text(encoding="utf-8") == expected


def test_timestamps_are_texts(yaml_file: Path) -> None:
    assert YamlDocument.load(yaml_file)["created_at"] == "2026-06-15T08:00:00.123456789Z"
    YamlDocument.update(yaml_file, setting(created_at="2027-01-01T00:00:00Z"))
    assert "\ncreated_at: 2027-01-01T00:00:00Z\n" in yaml_file.read_text(encoding="utf-8")


def test_a_new_yaml_file_is_in_block_style(tmp_path: Path) -> None:
    path = tmp_path / "changes" / "x" / "STATE.yaml"
    written = YamlDocument.update(
        path, setting(phase="proposed", calls=[{"a": 1}], note="one\ntwo: # no comment\n")
    )
    assert path.read_text(encoding="utf-8") == (
        'phase: proposed\ncalls:\n- a: 1\nnote: "one\\ntwo: # no comment\\n"\n'
    )
    assert written.data["phase"] == "proposed"


@pytest.mark.parametrize("above", ["seen:\n", "seen: {a: 1}\n", "seen: 1\n", "seen: |\n  x\n"])
@pytest.mark.parametrize("between", ["# why\n", "\n", "# why\n\n# and how\n"])
def test_what_stands_above_a_changed_entry_stays_there_once(tmp_path: Path, above: str, between: str) -> None:
    path = tmp_path / "STATE.yaml"
    path.write_text(f"{above}{between}phase: proposed\n", encoding="utf-8")
    YamlDocument.update(path, setting(phase="complete"))
    assert path.read_text(encoding="utf-8") == f"{above}{between}phase: complete\n"


def test_an_entry_that_was_read_before_is_as_it_is_in_the_file() -> None:
    text = "list: [1, {a: 2}]\nother: x\n"
    for _ in range(2):
        document = YamlText(text)
        assert document.data == {"list": [1, {"a": 2}], "other": "x"}
        document.data["list"][1]["a"] = 3
        document.data["list"].append(4)
    assert YamlText.read(text) == {"list": [1, {"a": 2}], "other": "x"}


def test_an_emptied_file_can_be_filled_again(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("# mine\na: 1\nb: 2\n", encoding="utf-8")
    YamlDocument.update(path, lambda data: data.clear())
    assert path.read_text(encoding="utf-8") == "# mine\n{}\n"
    YamlDocument.update(path, setting(c=3))
    assert path.read_text(encoding="utf-8") == "# mine\nc: 3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{a: 1, b: 2}\n", "{a: 1, b: 2, z: 1}\n"),
        ("---\na: 1\n", "---\na: 1\nz: 1\n"),
        ("a: 1", "a: 1\nz: 1"),
        ("a: 1\r\n# c\r\n", "a: 1\r\n# c\r\nz: 1\r\n"),
        ("\ufeffa: 1\n", "\ufeffa: 1\nz: 1\n"),
        (
            "a: >-\n  folded\n  text\nb: !theirs {c: 1}\n",
            "a: >-\n  folded\n  text\nb: !theirs {c: 1}\nz: 1\n",
        ),
        ("1: one\nyes: no\n~: null\n", "1: one\nyes: no\n~: null\nz: 1\n"),
    ],
)
def test_yaml_of_any_style_can_be_added_to(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(before.encode())
    YamlDocument.update(path, setting(z=1))
    assert path.read_bytes().decode() == after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# only a comment\n", 1),
        ("- a\n- b\n", 1),
        ("a: 1\nb: 2\na: 3\n", 3),
        ("a: 1\nb: [\n", 3),
        ("a: 1\nb: \x07\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: 1\nb: *nowhere\n", 2),
        ("a: 1\n\tb: 2\n", 2),
        ("a: !!int many\n", None),
        ("a: " + "[" * 1000, 1),
    ],
)
def test_damaged_yaml_is_named_with_its_line_and_left_alone(
    tmp_path: Path, text: str, line: int | None
) -> None:
    path = tmp_path / "STATE.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileDamaged) as caught:
        YamlDocument.update(path, setting(a=1))
    assert (caught.value.file, caught.value.line) == (str(path), line)
    with pytest.raises(FileDamaged):
        YamlDocument.load(path)
    assert path.read_text(encoding="utf-8") == text


# -- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1,"b":[1,2]}', '{"a":1,"b":[1,2],"z":{"n":[0]}}'),
        ('{"a": 1, "b": []}\n', '{"a": 1, "b": [], "z": {"n": [0]}}\n'),
        ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "z": {\n    "n": [\n      0\n    ]\n  }\n}\n'),
        ('{\n\t"a": {}\n}', '{\n\t"a": {},\n\t"z": {\n\t\t"n": [\n\t\t\t0\n\t\t]\n\t}\n}'),
        (
            '\ufeff{\r\n "a": 1\r\n}\r\n',
            '\ufeff{\r\n "a": 1,\r\n "z": {\r\n  "n": [\r\n   0\r\n  ]\r\n }\r\n}\r\n',
        ),
        ("{}\n", '{\n  "z": {\n    "n": [\n      0\n    ]\n  }\n}\n'),
        ('{"a":[1.10,-3,1E5]}', '{"a":[1.1,-3,100000.0],"z":{"n":[0]}}'),
        ('{"a": "é\\n\\u0001"}', '{"a": "é\\n\\u0001", "z": {"n": [0]}}'),
        ('{"a": "\\u00e9"}', '{"a": "\\u00e9", "z": {"n": [0]}}'),
        ('{"a": "é", "b": "\\ud83d"}', '{"a": "é", "b": "\\ud83d", "z": {"n": [0]}}'),
        ('{"a": true, "b": false, "c": null}', '{"a": true, "b": false, "c": null, "z": {"n": [0]}}'),
    ],
)
def test_json_of_any_style_can_be_added_to(tmp_path: Path, before: str, after: str) -> None:
    path = json_file(tmp_path, before)
    JsonDocument.update(path, setting(z={"n": [0]}))
    assert path.read_bytes().decode() == after


def test_unknown_fields_and_their_order_are_kept(tmp_path: Path) -> None:
    path = json_file(tmp_path, '{"z": 1, "slug": "login", "x-theirs": {"b": 1.5, "a": []}, "a": 2}\n')
    JsonDocument.update(path, setting(slug="logout"))
    assert path.read_text(encoding="utf-8") == (
        '{"z": 1, "slug": "logout", "x-theirs": {"b": 1.5, "a": []}, "a": 2}\n'
    )


def test_numbers_can_be_calculated_with(tmp_path: Path) -> None:
    path = json_file(tmp_path, '{"total": 1.50, "count": 3}')

    def add(data: Data) -> None:
        data["total"] += 0.25
        data["count"] += 1

    assert JsonDocument.update(path, add).data == {"total": 1.75, "count": 4}
    assert path.read_text(encoding="utf-8") == '{"total": 1.75, "count": 4}'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("[1]", 1),
        ('{"a": 1,\n"b": 2,\n"a": 3}', 3),
        ('{"a": "NaN",\n"b": NaN}', 2),
        ('{"a": 1,\n"b": -Infinity}', 2),
        ('{"a": 1,\n}', 2),
        ('{"a": 1}\n{"b": 2}', 2),
        ('{"a": "\n"}', 1),
        ('{"a": {"b": 1, "b": 2}, "b": 3}', None),
        ("[" * 100_000, None),
    ],
)
def test_damaged_json_is_named_with_its_line_and_left_alone(
    tmp_path: Path, text: str, line: int | None
) -> None:
    path = json_file(tmp_path, text)
    with pytest.raises(FileDamaged) as caught:
        JsonDocument.update(path, setting(a=1))
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_refused(tmp_path: Path, value: float) -> None:
    path = json_file(tmp_path, '{"a": 1}')
    with pytest.raises(InvalidInput):
        JsonDocument.update(path, setting(a=[value]))
    assert path.read_text(encoding="utf-8") == '{"a": 1}'


# -- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (YamlDocument, STATE),
        (YamlDocument, "a:   ~\nb:    'x'\r\n\r\n"),
        (YamlDocument, "{a:   1}   # odd"),
        (JsonDocument, '{ "a" : 1.0e0 ,\n\n "b":[ ]}  \n\n'),
        (JsonDocument, "  { }"),
    ],
)
def test_an_update_that_changes_nothing_leaves_every_byte(
    tmp_path: Path, form: type[YamlDocument | JsonDocument], text: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(text.encode())
    before = path.stat()

    def change_and_change_back(data: Data) -> None:
        data["new"] = 1
        del data["new"]

    for change in (nothing, change_and_change_back):
        form.update(path, change)
        assert path.read_bytes() == text.encode()
        assert path.stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    ("form", "one", "true"), [(YamlDocument, "a: 1\n", "a: true\n"), (JsonDocument, '{"a":1}', '{"a":true}')]
)
def test_true_is_not_one(
    tmp_path: Path, form: type[YamlDocument | JsonDocument], one: str, true: str
) -> None:
    path = tmp_path / "file"
    path.write_text(one, encoding="utf-8")
    form.update(path, setting(a=True))
    assert path.read_text(encoding="utf-8") == true


@pytest.mark.parametrize("form", [YamlDocument, JsonDocument])
def test_a_change_that_fails_leaves_the_file(tmp_path: Path, form: type[YamlDocument | JsonDocument]) -> None:
    path = tmp_path / "file"
    path.write_text('{"a": 1}', encoding="utf-8")

    def fail(data: Data) -> None:
        data["a"] = 2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        form.update(path, fail)
    assert path.read_text(encoding="utf-8") == '{"a": 1}'


@pytest.mark.parametrize("form", [YamlDocument, JsonDocument])
def test_an_update_happens_under_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: type[YamlDocument | JsonDocument]
) -> None:
    def taken(path: Path, timeout: float) -> None:
        raise LockTimeout(str(path), timeout)

    monkeypatch.setattr(atomic, "locked", taken)
    with pytest.raises(LockTimeout):
        form.update(tmp_path / "file", nothing, timeout=3)


@pytest.mark.parametrize("form", [YamlDocument, JsonDocument])
def test_loading_what_is_not_there_is_not_found(
    tmp_path: Path, form: type[YamlDocument | JsonDocument]
) -> None:
    with pytest.raises(NotFound):
        form.load(tmp_path / "nope")


# -- properties ----------------------------------------------------------------------------------


class Unsynced(atomic.Disk):
    def fsync(self, handle: int) -> None:
        pass

    def fsync_dir(self, folder: Path) -> None:
        pass


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(atomic, "disk", Unsynced())
    return tmp_path / "file"


many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = st.one_of(st.sampled_from(["phase", "theirs", "a b", "yes", "null", "1", "~", "- x", "#"]), texts)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=6,
)
mappings = st.dictionaries(keys, values, max_size=5)


@many
@given(first=mappings, second=mappings)
def test_json_says_what_was_put_into_it(quick: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    quick.unlink(missing_ok=True)
    JsonDocument.update(quick, lambda data: data.update(first))
    JsonDocument.update(quick, lambda data: data.update(second))
    assert json.loads(quick.read_bytes()) == {**first, **second}
    assert JsonDocument.load(quick) == {**first, **second}


@many
@given(first=mappings, second=mappings)
def test_yaml_says_what_was_put_into_it(quick: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    quick.unlink(missing_ok=True)
    YamlDocument.update(quick, lambda data: data.update(first))
    YamlDocument.update(quick, lambda data: data.update(second))
    assert YamlDocument.load(quick) == {**first, **second}


@many
@given(
    theirs=mappings,
    ours=values,
    style=st.tuples(st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans(), st.sampled_from(["", "\n"])),
)
def test_json_of_others_keeps_its_bytes_around_a_change(
    quick: Path, theirs: dict[str, Any], ours: Any, style: tuple[int | str | None, bool, str]
) -> None:
    indent, ascii_only, end = style

    def dump(data: dict[str, Any]) -> str:
        return json.dumps(data, indent=indent, ensure_ascii=ascii_only and escaped) + end

    # Whether a file is ASCII on purpose can only be told from one that has something to escape.
    escaped = any(ord(character) > 126 for character in json.dumps(theirs, ensure_ascii=False))
    before = {"first": 1, **theirs, "ours": None}
    after = {**before, "ours": ours}
    quick.write_bytes(dump(before).encode())
    JsonDocument.update(quick, setting(ours=ours))
    assert json.loads(quick.read_bytes()) == after
    if escaped or json.dumps(ours, ensure_ascii=False).isascii():
        assert quick.read_bytes() == dump(after).encode()


def flow(value: Any) -> str:
    """JSON is YAML, except for two breaks of lines that YAML has to have escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def test_a_comment_beside_a_key_never_changes_what_is_written_below_it(tmp_path: Path) -> None:
    path = tmp_path / "STATE.yaml"
    path.write_text("calls: null   # none so far\n", encoding="utf-8")
    YamlDocument.update(path, setting(calls=[{}, None, 1]))
    assert YamlDocument.load(path) == {"calls": [{}, None, 1]}


# Lines that mean something else, or nothing, below others.
LINES = (
    *(
        "a: 1",
        "b: x # c",
        "n: null",
        "true: 1",
        "yes: 2",
        "a b: 3",
        "'r': 1",
        "m: 2020-01-01",
        "s: x: y",
        "b:c",
    ),
    *("d:", "- 1", "- x: 1", "  y: 2", "  - 1", "u: - 1", "-x", "i: {x: 1}", "h: [1,", "  2]", "a: 3", "b:c"),
    *("c: |", "c: |+", "c: |2", "c: >-", "c: >", "  text", 'q: "x', 'v: "a\\', '   b"', "e: 'it''s'"),
    *("# top", "  # in", "", "   ", "\t x", "? q", ": v", "j: &a 1", "k: *a", "l: !!int x"),
    *("---", "...", "%YAML 1.1", "o: a\r- b", "# x\rp: 1"),
)


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=7).map("\n".join), st.sampled_from(["", "\n"]))
def test_a_text_that_is_read_by_its_entries_says_what_the_whole_says(lines: str, end: str) -> None:
    def read(how: Callable[[str], Any]) -> str:
        try:
            return repr(dict(how(lines + end)))
        except Exception as error:
            return f"{type(error).__name__} {error} {vars(error)}"

    assert read(lambda text: YamlText(text).data) == read(YamlText.read)


def yaml_entry(key: str, value: Any) -> str:
    """As another program would write it, in a style that is not ours."""
    if isinstance(value, list) and value:
        return f"{key}:   # list\n" + "".join(f"    -   {flow(item)}   # item\n" for item in value)
    if isinstance(value, dict) and value:
        return f"{key}:\n" + "".join(f"      {flow(k)}:   {flow(v)}\n" for k, v in value.items())
    return f"{key}:    {flow(value)}   # its value\n"


@many
@given(
    entries=st.lists(values, min_size=1, max_size=5),
    chosen=st.sets(st.integers(0, 4)),
    deleted=st.sets(st.integers(0, 4)),
    ours=values,
)
def test_comments_and_entries_of_others_survive_in_their_bytes(
    quick: Path, entries: list[Any], chosen: set[int], deleted: set[int], ours: Any
) -> None:
    blocks = [(f"# about {n}\n\n", yaml_entry(f"key{n}", value)) for n, value in enumerate(entries)]
    text = "".join(comment + block for comment, block in blocks) + "\n# the end\n"
    quick.write_text(text, encoding="utf-8")

    def change(data: Data) -> None:
        for n in chosen & set(range(len(entries))):
            data[f"key{n}"] = ours
        for n in deleted & set(range(len(entries))):
            del data[f"key{n}"]

    YamlDocument.update(quick, change)
    after = quick.read_text(encoding="utf-8")
    expected = {
        f"key{n}": ours if n in chosen else value for n, value in enumerate(entries) if n not in deleted
    }
    assert YamlDocument.load(quick) == expected
    assert (YAML(typ="safe", pure=True).load(after) or {}).keys() == expected.keys()
    position = 0
    for n, (comment, block) in enumerate(blocks):
        kept = comment if n in chosen or n in deleted else comment + block
        position = after.index(kept, position) + len(kept)
    assert after.index("\n# the end\n", position - 1) >= 0
