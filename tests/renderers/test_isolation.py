"""Templates of users in their own process: what Jinja's sandbox does not stop is stopped by limits, in one sentence."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.renderers.reports import RECALL, REPORT, texts

from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.model.report_text import encode_report
from rankgate.model.values import Reason, ReasonKind
from rankgate.renderers import isolation
from rankgate.renderers.isolation import USUAL, Template, render_isolated
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.sandboxed import Limits

SMALL = Limits(computing=1, waiting=20.0, memory=256 * 1024 * 1024, output=10_000)
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"

limited = pytest.mark.skipif(sys.platform == "win32", reason="Windows limits nothing but the time")


def mistake_of(text: str, limits: Limits = SMALL) -> str:
    """The one sentence on what is wrong with a template."""
    with pytest.raises(RankgateError) as raised:
        render_isolated(REPORT, Template("base:ours.md.j2", text), limits)
    [problem] = raised.value.problems
    assert problem.file == "base:ours.md.j2"
    assert problem.message.startswith("template error: ")
    assert problem.message.isprintable()
    return problem.message.removeprefix("template error: ")


@limited
@pytest.mark.parametrize(
    ("template", "words"),
    [
        pytest.param("{{ 'a' * 10**9 }}", "it needs more than 256 MB of memory", id="memory for a text"),
        pytest.param(
            "{{ '%1000000000s' | format(1) }}", "it needs more than 256 MB of memory", id="memory by a format"
        ),
        pytest.param("{{ [0] * 10**9 }}", "it needs more than 256 MB of memory", id="memory for a list"),
        pytest.param("{{ 'a' * 10**6 }}", "its text is longer than 10,000 bytes", id="much text"),
        pytest.param("{{ 'é' * 9_000 }}", "its text is longer than 10,000 bytes", id="text is counted in bytes"),
        pytest.param(ENDLESS, "it computed longer than 1 s", id="loops in loops"),
        pytest.param("{{ 10 ** (10 ** 8) }}", "it computed longer than 1 s", id="a large power"),
    ],
)
def test_what_the_sandbox_lets_through_meets_a_limit(template: str, words: str) -> None:
    assert mistake_of(template) == words


def test_a_template_that_waits_is_ended_by_the_clock() -> None:
    assert mistake_of(ENDLESS, Limits(computing=60, waiting=0.5)) == "it took longer than 0.5 s"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        pytest.param("{{ ''.__class__.__mro__ }}", "access to attribute '__class__'", id="class of a text"),
        pytest.param("{{ report.__init__.__globals__ }}", "access to attribute '__init__'", id="globals of a method"),
        pytest.param("{{ cycler.__init__.__globals__.os }}", "access to attribute '__init__'", id="globals of Jinja"),
        pytest.param("{{ report | attr('__class__') }}", "access to attribute '__class__'", id="by a filter"),
        pytest.param("{{ '{0.__class__}'.format(report) }}", "access to attribute '__class__'", id="by a format"),
        pytest.param("{{ lipsum.__globals__ }}", "access to attribute '__globals__'", id="globals of a function"),
        pytest.param("{{ self._TemplateReference__context }}", "is unsafe", id="the context"),
        pytest.param("{{ report.gates.append(1) }}", "is unsafe", id="change of a list"),
        pytest.param("{% include '/etc/passwd' %}", "no loader for this environment", id="another file"),
        pytest.param("{% import 'os' as os %}", "no loader for this environment", id="a module"),
        pytest.param("{% for a in range(1000001) %}{% endfor %}", "Range too big", id="a large range"),
        pytest.param("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "it calls itself without end", id="recursion"),
        pytest.param("{{ '\\ud800' }}", "surrogates not allowed", id="half of a surrogate pair"),
        pytest.param("{{ 10 ** 5000 }}", "integer string conversion", id="an integer of 5,000 digits"),
        pytest.param("{{ report.nope }}", "has no attribute 'nope'", id="an unknown name"),
    ],
)
def test_an_attack_ends_in_one_sentence(template: str, words: str) -> None:
    assert words in mistake_of(template)


def test_deeply_nested_syntax_ends_in_a_sentence_too() -> None:
    assert mistake_of("{{ " + "(" * 50_000 + " }}")


def test_a_message_is_shortened_and_shows_what_would_be_hidden() -> None:
    message = mistake_of("{{ icon('\\x1b[31m' ~ 'x' * 5000) }}")
    assert len(message) < 600
    assert "\\u001b" in message or "\\x1b" in message


@limited
def test_within_the_limits_no_file_can_be_opened(tmp_path: Path) -> None:
    """What an escape from the sandbox would meet: the process itself opens nothing any more."""
    code = (
        "import sys; sys.path += sys.argv[2:]\n"
        "from rankgate.renderers import sandboxed\n"
        "sandboxed._limit(sandboxed.Limits())\n"
        "import os\n"
        "for attempt in (lambda: open(sys.argv[1], 'w'), lambda: open('/dev/null'), os.pipe):\n"
        "    try: attempt(); print('opened')\n"
        "    except OSError as error: print(error.strerror)\n"
    )
    from subprocess import run

    done = run(
        [sys.executable, "-c", code, str(tmp_path / "new"), *sys.path], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["Too many open files"] * 3
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("<!-- rankgate id=x -->", id="in the first line"),
        pytest.param("words\n  <!--RankGate", id="in another, set in and spelled otherwise"),
        pytest.param("words{{ '\\r' }}<!-- rankgate", id="after a carriage return"),
        pytest.param("{{ '<!' ~ '-- rankgate' }}", id="put together"),
    ],
)
def test_a_text_with_our_hidden_marker_is_refused(template: str) -> None:
    words = "a line of its text begins with `<!-- rankgate`, by which the bot knows its own comment"
    assert mistake_of(template) == words


def test_other_comments_and_the_word_itself_are_let_through() -> None:
    text = "<!-- made by us -->\nby rankgate <!-- rankgate -->\n"
    assert render_isolated(REPORT, Template("ours", text)) == text


def test_nothing_of_the_directory_or_the_environment_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("jinja2", "msgspec", "sitecustomize", "rankgate", "pprint"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "rankgate.py"))
    assert render_isolated(REPORT, Template("ours", "{{ report.verdict.value }}")) == "fail\n"


def test_the_process_that_renders_has_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "RANKGATE_TOKEN", "AWS_SECRET_ACCESS_KEY", "ACTIONS_RUNTIME_TOKEN"):
        monkeypatch.setenv(name, "hunter2")
    shows = "import os, sys; sys.stdout.write(' '.join(sys.argv + [f'{k}={v}' for k, v in os.environ.items()]))"
    monkeypatch.setattr(isolation, "_START", shows)
    shown = render_isolated(REPORT, Template("ours", ""))
    assert shown.startswith("-c ")
    assert "hunter2" not in shown


def test_a_template_may_use_all_that_jinja_brings_and_ours_renders_as_ever() -> None:
    text = "{{ lipsum(n=1) | length > 1 }} {{ {'a': 1} | pprint }} {{ [3, 1] | sort | tojson }} {{ '\\N{BULLET}' }}"
    assert render_isolated(REPORT, Template("ours", text)) == "True {'a': 1} [1, 3] •\n"
    ours = Path(sys.modules[render_markdown.__module__].__file__ or "").parent / "templates" / "comment.md.j2"
    mine = render_markdown(REPORT, ours.as_posix())
    assert mine.split() == render_markdown(REPORT).split()


LOST = "3 questions were lost in recall@5; at most 1 allowed"
KINDS = [Reason(ReasonKind.MUST_PASS, count=2), Reason(ReasonKind.LOST, count=3, limit=1)]
MUST = "2 must-pass questions fail: recall@5 is at its worst there"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("{{ report.gates[0].reasons[1] }}", LOST, id="one"),
        pytest.param(
            "{% for each in report.gates %}{{ each.reasons | join('; ') }}{% endfor %}", f"{MUST}; {LOST}", id="all"
        ),
        pytest.param("{{ report.gates[0]['reasons'][1] + '.' }}", f"{LOST}.", id="by a key, as text"),
        pytest.param("{{ (report.gates[0] | attr('reasons'))[1].upper() }}", LOST.upper(), id="by a filter"),
        pytest.param("{{ report.gates | map(attribute='reasons.1') | first | length }}", str(len(LOST)), id="by map"),
        pytest.param("{{ report.gates | selectattr('reasons') | list | length }}", "1", id="those that have any"),
        pytest.param("{{ reasons(report, report.gates) | last }}", f"FAIL: {LOST}.", id="by our function"),
    ],
)
def test_reasons_are_sentences_in_templates(template: str, text: str) -> None:
    """As they were before they had kinds, in new reports and in old ones."""
    kinds = replace(REPORT, gates=[replace(RECALL, reasons=KINDS)])
    old = replace(REPORT, gates=[replace(RECALL, reasons=texts(MUST, LOST))])
    assert [render_isolated(each, Template("t", template)).strip() for each in (kinds, old)] == [text] * 2


def test_a_report_of_many_megabytes_goes_through() -> None:
    report = replace(REPORT, notes=["x" * 1_000] * 5_000)
    assert render_isolated(report, Template("ours", "{{ report.notes | length }}")) == "5000\n"


def test_a_text_longer_than_the_limit_is_cut_and_says_so() -> None:
    text = render_markdown(
        REPORT, Template("ours", "{% for a in range(9000) %}\n* line {{ a }}\n{% endfor %}"), limit=2_000
    )
    assert len(text) <= 2_000
    assert text.startswith("* line 0\n* line 1\n")
    assert "of 9,000 lines of the template; all numbers are in `report.json`." in text


@pytest.mark.parametrize(
    ("template", "code", "printed", "complaint"),
    [
        pytest.param("# {{ word(report.verdict) }}\n", 0, "# FAIL\n", "", id="a good one"),
        pytest.param("\n{{ nope }}", 2, "", "ours.md.j2:2: template error: 'nope' is undefined", id="a mistake"),
        pytest.param("<!-- rankgate", 2, "", "ours.md.j2: template error: a line of its text", id="our marker"),
        pytest.param("x" * 1_000_001, 2, "", "ours.md.j2: is longer than 1,000,000 bytes", id="too long"),
    ],
)
def test_exit_codes_of_render(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    template: str,
    code: int,
    printed: str,
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("report.json").write_text(encode_report(REPORT), encoding="utf-8")
    Path("ours.md.j2").write_text(template, encoding="utf-8")
    assert main(["render", "report.json", "--template", "ours.md.j2"]) == code
    found = capsys.readouterr()
    assert found.out == printed
    assert complaint in found.err


def children() -> set[str]:
    """Processes that this one started and that are there, or not yet waited for."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended meanwhile
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            found |= {process.name} if parent == str(os.getpid()) else set()
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed in /proc only on Linux")
def test_no_process_outlives_its_template() -> None:
    before = children()
    with pytest.raises(RankgateError):
        render_isolated(REPORT, Template("ours", ENDLESS), Limits(computing=60, waiting=0.3))
    assert children() == before


def test_the_usual_limits() -> None:
    assert (USUAL.computing, USUAL.memory) == (5, 512 * 1024 * 1024)
