"""Completion scripts: what a shell offers after `unmask`, for each command its options and what they take.

In: the table of commands and the options of each. Out: a script for bash, zsh or fish that stands by itself: no Python
is started for a TAB. Values are offered where they are names (recipes, policies); all else is a path or a word of the
user's own.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from unmask.verbs.options import Option, options_of

# names that heavier modules define, for options whose value is one; tests/verbs/test_shells.py holds them to those
SIZES = ("tiny", "mini", "small", "base")
RECIPES = (
    *("modernbert", "bert", "bert-wwm", "roberta", "ernie", "xlm-r", "xlm-r-xl", "pmi", "causal", "diffusion"),
    *("causal-then-mlm", "spanbert", "deberta", "electra", "deberta-v3", "xlnet", "mpnet", "t5"),
)
VALUES: dict[str, tuple[str, ...]] = {
    "recipe": (*SIZES, *RECIPES, *(f"{kind}-{size}" for kind in RECIPES for size in SIZES)),
    "policy": (
        *("token", "word", "span", "entity", "phrase", "collocation", "ngram", "sentinel", "permutation"),
        *("masked-permutation", "diffusion"),
    ),
    "objective": (
        *("mlm", "replaced", "replaced-disentangled", "spans", "causal", "diffusion", "permuted", "masked-permuted"),
        *("seq2seq", "retromae", "tsdae"),
    ),
    "init": ("informed", "vectors", "neighbours", "frequencies", "random"),
    "device": ("auto", "cuda", "mps", "cpu"),
    "precision": ("auto", "float32", "bfloat16", "float16"),
    "tokenizer": ("wordpiece", "bpe", "unigram"),
}
Commands = Mapping[str, Callable[..., Any]]


def values_of(option: Option) -> tuple[str, ...]:
    """The names that may be given for an option, where it takes names."""
    return option.choices or VALUES.get(option.name, ())


def flags_of(verb: Callable[..., Any]) -> list[str]:
    """Every flag of a command."""
    return [*(flag for option in options_of(verb) for flag in option.flags), "--help", "--version"]


def first_sentence(text: str) -> str:
    """The beginning of an explanation, as a menu of completions has room for it.

    >>> first_sentence("What to read: files, or folders. More of it.")
    'What to read: files, or folders'
    """
    return re.split(r"\.(?= |$)", text.strip(), maxsplit=1)[0]


def summary_of(verb: Callable[..., Any]) -> str:
    """What a command is for."""
    return first_sentence((inspect.getdoc(verb) or "").partition("\n")[0])


def bash_script(commands: Commands) -> str:
    """For bash: source it, or put it where bash-completion looks."""
    values: list[str] = []
    flags: list[str] = []
    places: list[str] = []
    for name, verb in commands.items():
        options = options_of(verb)
        for option in options:
            if names := values_of(option):
                asked, cases = (name, places) if option.positional else (f"{name}:{option.flag}", values)
                cases.append(f"        {asked}) _unmask_words {' '.join(names)} ;;")
        paths = "|".join(f"{name}:{option.flag}" for option in options if _takes_path(option))
        values += [f"        {paths}) _unmask_paths ;;"] if paths else []
        words = "|".join(f"{name}:{option.flag}" for option in options if _takes_word(option))
        values += [f"        {words}) ;;"] if words else []
        flags.append(f"        {name}:-*) _unmask_words {' '.join(flags_of(verb))} ;;")
    return BASH.format(
        commands=" ".join(commands), values="\n".join(values), flags="\n".join(flags), places="\n".join(places)
    )


def _takes_path(option: Option) -> bool:
    return not option.positional and option.kind is Path


def _takes_word(option: Option) -> bool:
    """Whether only the user knows what comes: a number or a text."""
    return not (option.positional or option.kind in (bool, Path) or values_of(option))


BASH = """\
# unmask completion for bash: source <(unmask completion bash)
_unmask_words() {{
    COMPREPLY=($(compgen -W "$*" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
_unmask_paths() {{
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
_unmask() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _unmask_words {commands} --help --version
        return
    fi
    case "$command:$word" in
{flags}
        *) _unmask_values ;;
    esac
}}
_unmask_values() {{
    case "$command:$before" in
{values}
        *) _unmask_places ;;
    esac
}}
_unmask_places() {{
    case "$command" in
{places}
        *) _unmask_paths ;;
    esac
}}
complete -F _unmask unmask
"""


def zsh_script(commands: Commands) -> str:
    """For zsh: source it after compinit, or save it as _unmask in a folder of $fpath."""
    listed = "\n".join(
        f"        {shlex.quote(f'{name}:{_plain(summary_of(verb))}')}" for name, verb in commands.items()
    )
    cases = []
    for name, verb in commands.items():
        specs = [_zsh_spec(option) for option in options_of(verb)]
        lines = [line for spec in specs for line in spec]
        lines += [shlex.quote("--help[explain the command]"), shlex.quote("--version[tell the version]")]
        cases.append(f"        {name}) _arguments \\\n            " + " \\\n            ".join(lines) + " ;;")
    return ZSH.format(commands=listed, cases="\n".join(cases))


def _zsh_spec(option: Option) -> list[str]:
    """An option as zsh's _arguments takes it."""
    purpose = _plain(first_sentence(option.purpose))
    if option.kind is bool:
        return [shlex.quote(f"{flag}[{purpose}]") for flag in option.flags]
    names = values_of(option)
    others = "_files" if option.kind is Path or option.positional else " "
    action = f"({' '.join(names)})" if names else others
    if option.positional:
        return [shlex.quote(f"{'*' if option.several else ''}:{option.name}:{action}")]
    return [shlex.quote(f"{'*' if option.several else ''}{option.flag}=[{purpose}]:{option.name}:{action}")]


def _plain(text: str) -> str:
    """A text without what zsh reads as its own."""
    return re.sub(r"[\[\]:\\]", " ", text)


ZSH = """\
#compdef unmask
# unmask completion for zsh: source <(unmask completion zsh)
_unmask() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _unmask "$@"
else
    compdef _unmask unmask
fi
"""


def fish_script(commands: Commands) -> str:
    """For fish: unmask completion fish | source, or save it as ~/.config/fish/completions/unmask.fish."""
    lines = ["# unmask completion for fish: unmask completion fish | source", "complete -c unmask -f"]
    for name, verb in commands.items():
        summary = shlex.quote(summary_of(verb).replace("'", "’"))
        lines.append(f"complete -c unmask -n __fish_use_subcommand -a {name} -d {summary}")
        seen = f"complete -c unmask -n '__fish_seen_subcommand_from {name}'"
        for option in options_of(verb):
            names = shlex.quote(" ".join(values_of(option)))
            if option.positional:
                lines.append(f"{seen} -a {names}" if values_of(option) else f"{seen} -F")
                continue
            purpose = shlex.quote(first_sentence(option.purpose).replace("'", "’"))
            takes = "" if option.kind is bool else f" -x -a {names}" if values_of(option) else " -x"
            takes = " -r -F" if option.kind is Path else takes
            lines += [f"{seen} -l {flag[2:]}{takes} -d {purpose}" for flag in option.flags]
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[Commands], str]] = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
