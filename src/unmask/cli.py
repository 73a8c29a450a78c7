"""The command line: a table of verbs, flags read from their signatures, one line for whatever goes wrong.

In: the words of the command. Out: tables for people or JSON on stdout, progress and errors on stderr, and an
exit code of `unmask.errors`. Nothing heavy is imported before a verb runs, so help answers at once.
"""

from __future__ import annotations

import errno
import inspect
import io
import os
import re
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NoReturn

from unmask import __version__
from unmask.errors import EXIT_CODES, BadInput, BadLines, Damaged, Interrupted, Lost, NoSpace, UnmaskError
from unmask.results import to_json
from unmask.verbs.arguments import Location
from unmask.verbs.commands import COMMANDS, ROWWISE, STREAMED, TEXTLESS
from unmask.verbs.lines import names_source
from unmask.verbs.mistakes import WrongUsage, empty_word, find_mistake, unknown_command
from unmask.verbs.options import json_help, options_of

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
UNUSABLE = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its exit code."""
    words = sys.argv[1:] if words is None else list(words)
    sys.stdout = sys.stdout or io.StringIO()  # None where whoever started this has closed it
    sys.stderr = sys.stderr or io.StringIO()
    try:
        code = run(words)
        sys.stdout.flush()
    except BaseException as error:
        if os.environ.get("UNMASK_TRACEBACK") and not isinstance(error, SystemExit):
            raise
        code = explain(error)
        if isinstance(error, KeyboardInterrupt):  # Python may end by the signal instead, whatever the code
            os._exit(code)
    try:
        sys.stdout.flush()
    except OSError:  # nobody reads it, or it cannot be written: Python would say so again on its way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(words: Sequence[str]) -> int:
    """Find the verb, read its settings, do it and show what it gives."""
    name, arguments = (words[0], words[1:]) if words else ("", [])
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if name == "--version" or (name in COMMANDS and "--version" in flags):
        print(f"unmask {__version__}")
        return 0
    if name == "help" and arguments:
        return run([arguments[0], "--help"])
    if name in ("-h", "--help", "help"):
        print(overview())
        return 0
    if name not in COMMANDS:
        raise unknown_command(name)
    if "" in arguments and COMMANDS[name] not in STREAMED:  # as a path it would mean this folder
        raise BadInput(empty_word(arguments))
    call, as_json = read_settings(COMMANDS[name], arguments)
    _silence_libraries()
    first = os.environ.get("RANK", "0") == "0"  # of the processes that torchrun started, one speaks
    with _progress_on_stderr() if first else nullcontext():
        result = call()
        if isinstance(result, Iterator):  # made as it is asked for: there is progress until the first of it is there
            result = chain(list(islice(result, 1)), result)
            if first and not sys.stdout.isatty():  # and to the end, where results do not run over it
                _show(result, as_json)
                return 0
    if first:
        _show(result, as_json)
    return Damaged.code if getattr(result, "damage", ()) else 0


def overview() -> str:
    """What the commands are for, on one screen."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {(inspect.getdoc(verb) or '').splitlines()[0]}" for name, verb in COMMANDS.items()]
    codes = [f"  {code:>3}  {meaning}" for code, meaning in sorted(EXIT_CODES.items())]
    return "\n".join(
        [
            f"unmask {__version__}: from raw text to an encoder that fills blanks",
            "",
            "usage: unmask COMMAND [OPTIONS]        unmask COMMAND --help explains a command",
            "",
            *lines,
            "",
            "Every command takes --json (results as JSON on stdout), --help and --version.",
            "",
            "exit codes",
            *codes,
        ]
    )


def read_settings(verb: Callable[..., Any], words: Sequence[str]) -> tuple[Callable[[], Any], bool]:
    """The verb with its settings bound, ready to be called, and whether JSON was asked for."""
    import tyro

    markers = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
    output = io.StringIO()
    mistake: UnmaskError | None = None
    try:
        with redirect_stderr(output):
            question, complete = _as_question(verb), _complete_flags(verb, words)
            answer = tyro.cli(question, prog=f"unmask {verb.__name__}", args=complete, config=markers)
    except SystemExit as leaving:
        if not leaving.code:  # it was asked for help
            raise
        mistake = WrongUsage(_in_one_line(output.getvalue()))
    mistake = find_mistake(verb, words) or mistake
    if mistake is not None:
        stop = "" if str(mistake).endswith("?") else ";"
        raise type(mistake)(f"{mistake}{stop} see unmask {verb.__name__} --help")
    return answer


def _as_question(verb: Callable[..., Any]) -> Callable[..., tuple[Callable[[], Any], bool]]:
    """The verb's signature as tyro reads it best: `*words` as positions, one type for a path, and --json."""
    import tyro

    hints = typing.get_type_hints(verb) | {"json": bool}
    signature = inspect.signature(verb)
    unsaid = tyro.conf.arg(help_behavior_hint="")

    def adapt(parameter: inspect.Parameter) -> inspect.Parameter:
        hint = hints[parameter.name]
        kind: Any = plain({Location: Path, Location | None: Path | None}.get(hint, hint))
        if parameter.kind is parameter.VAR_POSITIONAL:
            kind = Annotated[tuple[(kind, ...)], unsaid]
            return parameter.replace(kind=parameter.POSITIONAL_ONLY, annotation=kind, default=())
        if parameter.name in optional:
            kind = Annotated[plain(str | None), tyro.conf.arg(metavar="[RUN]")]
            return parameter.replace(annotation=kind, default=None)
        if kind is Path and isinstance(parameter.default, str):
            parameter = parameter.replace(default=Path(parameter.default))
        if parameter.default is False:
            kind = Annotated[(kind, tyro.conf.FlagCreatePairsOff)]
        if parameter.name.endswith("_"):
            kind = Annotated[kind, tyro.conf.arg(name=parameter.name.rstrip("_"), help_behavior_hint="")]
        elif parameter.name == "json":
            kind = Annotated[kind, tyro.conf.arg(help=json_help(verb), help_behavior_hint="")]
        elif parameter.default in (None, False, ()):  # what that stands for, the help says in words
            kind = Annotated[kind, unsaid]
        return parameter.replace(annotation=kind)

    def plain(kind: Any) -> Any:
        """`int | None` as Optional[int], which tyro knows without typeguard, a quarter of the time that help takes."""
        return typing.Union[typing.get_args(kind)] if isinstance(kind, UnionType) else kind  # noqa: UP007

    def question(*positions: Any, json: bool, **settings: Any) -> tuple[Callable[[], Any], bool]:
        if variadic is not None:
            positions = (*positions[:variadic], *(positions[variadic] or _stdin_words(verb)))
        for name in optional:
            word = settings[name]
            settings[name] = False if word is None else Path(word) if word else True
        if verb in ROWWISE and settings["out"] is None and not sys.stdout.isatty():
            json = json or names_source(positions[variadic:])
        return partial(STREAMED.get(verb, verb), *positions, **settings), json

    optional = _may_stand_alone(verb)
    originals = list(signature.parameters.values())
    variadic = next(
        (place for place, parameter in enumerate(originals) if parameter.kind is parameter.VAR_POSITIONAL), None
    )
    parameters = [*map(adapt, [*originals, inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False)])]
    question.__signature__ = signature.replace(parameters=parameters, return_annotation=Any)  # type: ignore[attr-defined]
    question.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    question.__doc__ = verb.__doc__
    return question


def _may_stand_alone(verb: Callable[..., Any]) -> set[str]:
    """The settings whose flag may stand alone or name a place."""
    return {option.name for option in options_of(verb) if option.alone}


def _complete_flags(verb: Callable[..., Any], words: Sequence[str]) -> list[str]:
    """The words, with an empty one behind a flag that may stand alone and does."""
    alone = {f"--{name.replace('_', '-')}" for name in _may_stand_alone(verb)}
    complete: list[str] = []
    for word, following in zip_longest(words, words[1:]):
        stands_alone = word in alone and (following is None or following.startswith("-"))
        complete += [word, ""] if stands_alone and "--" not in complete else [word]
    return complete


def _stdin_words(verb: Callable[..., Any]) -> tuple[str, ...]:
    """Standard input stands for the texts that were not given, when something is piped into it."""
    return ("-",) if verb in STREAMED and verb not in TEXTLESS and not sys.stdin.isatty() else ()


def _in_one_line(box: str) -> str:
    """What a box of tyro's says, as one line.

    >>> print(_in_one_line('''
    ... ╭─ Unrecognized options ────────╮
    ... │ Unrecognized options: --tpo 5 │
    ... │ ───────────────────────────── │
    ... │ Perhaps you meant:            │
    ... │     --top INT                 │
    ... │ ───────────────────────────── │
    ... │ For full helptext, run …      │
    ... ╰───────────────────────────────╯'''))
    unrecognized options: --tpo 5; perhaps you meant: --top INT
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    inside = [line.strip().strip("│|").strip() for line in plain.splitlines() if not re.match(r"\s*[╭╰+]", line)]
    sections = re.split(r"\n[─-]+\n", "\n".join(inside).strip())
    lines = [
        " ".join(section.split())
        for section in sections
        if not section.startswith(("For full helptext", "Argument helptext"))
    ]
    return "; ".join(section[0].lower() + section[1:] for section in lines if section).rstrip(".:")


def _silence_libraries() -> None:
    """Third parties say nothing on this terminal, and ask nothing of the network but a model that is named."""
    import warnings

    from unmask.network import FETCHES

    warnings.simplefilter("ignore")
    if not {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"} & os.environ.keys():  # where the user has not forbidden it
        os.environ[FETCHES] = "1"
    for name, value in {
        "TRANSFORMERS_VERBOSITY": "error",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_VERBOSITY": "error",
        "HF_HUB_OFFLINE": "1",
        # OpenMP's threads wait actively for far too long where others want the processor: ten times slower steps
        "GOMP_SPINCOUNT": "10000",
    }.items():
        os.environ.setdefault(name, value)


@contextmanager
def _progress_on_stderr() -> Iterator[None]:
    """Progress on stderr."""
    from rich.console import Console

    from unmask.progress import show_progress

    with show_progress(Console(stderr=True)):
        yield


def _show(result: Any, as_json: bool) -> None:
    """The result on stdout: one JSON document (a line for each of several, as they come), or tables."""
    if as_json:
        for item in result if isinstance(result, list | Iterator) else [result]:
            print(to_json(item), flush=True)
        return
    from rich.console import Console

    from unmask.console.pages import result_pages

    console = Console()
    for page in result_pages(result):
        console.print(page, crop=False)  # a command to copy may be longer than a line


def explain(error: BaseException) -> int:
    """Say in one line what went wrong; give the exit code of its kind."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(bool(error.code))
    if isinstance(error, BrokenPipeError):
        return 0  # whoever reads has what it wanted
    if isinstance(error, KeyboardInterrupt):
        return _fail("stopped", Interrupted.code)
    if isinstance(error, BadLines):
        return [_fail(line, error.code) for line in error.lines][-1]
    if isinstance(error, UnmaskError):
        return _fail(str(error), error.code, everywhere=isinstance(error, Lost))
    if isinstance(error, OSError) and (error.errno in FULL or isinstance(error, UNUSABLE)):
        kind = NoSpace if error.errno in FULL else BadInput
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror}", kind.code)
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "allocate memory" in str(error)):
        remedy = "give a smaller --length, --batch-size, --micro-batch or --recipe"
        return _fail(f"out of memory: {remedy}", BadInput.code, everywhere=True)
    hint = "an error of unmask's own, please report it (UNMASK_TRACEBACK=1 shows where)"
    return _fail(f"{type(error).__name__}: {error}; {hint}", UnmaskError.code, everywhere=True)


def _fail(line: str, code: int, *, everywhere: bool = False) -> int:
    """One line on stderr, whatever the message holds; the code it goes with.

    Of the processes that torchrun started on a machine one speaks, for what is wrong is wrong for all of them; what may
    happen to one alone is said `everywhere`.
    """
    if everywhere or os.environ.get("LOCAL_RANK", "0") == "0":
        print(f"unmask: {' '.join(line.split())}", file=sys.stderr, flush=True)
    return code
