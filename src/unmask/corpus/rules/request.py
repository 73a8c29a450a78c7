"""The rules that a user asks for, as settings: what has to be learnt from text is learnt here, before any part is read.

In: options as they were given, and the sources. Out: `RuleSettings`. Boilerplate comes from a sample of the sources,
and limits like those of good text (`--like`) from that text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from unmask.corpus.read.encodings import UTF8
from unmask.corpus.read.find import WHOLE
from unmask.corpus.rules.boilerplate import boilerplate_lines
from unmask.corpus.rules.like import trusted_limits
from unmask.corpus.rules.settings import ANY_LANGUAGE, RuleSettings, choose_rules
from unmask.corpus.rules.trial import OnDocument, try_rules
from unmask.corpus.sample import read_sample
from unmask.errors import BadInput
from unmask.progress import task
from unmask.records import Document
from unmask.results import RulesTried

BOILERPLATE = "boilerplate"
EVERYTHING = "web,dclm,boilerplate"  # what is tried where nothing is named


@dataclass(frozen=True, kw_only=True)
class RuleRequest:
    """What is asked for."""

    filters: str = "none"
    language: str | None = None
    mask_personal: bool = False
    like: str | None = None  # good text, from which limits are taken
    decontaminate: tuple[str, ...] = ()
    repair: bool = True

    def settings(
        self, sources: Sequence[str], field: str = "text", encoding: str = UTF8, html: str = WHOLE
    ) -> RuleSettings:
        """The rules for these sources."""
        asked = choose_rules(
            self.filters,
            language=self.language,
            mask_personal=self.mask_personal,
            decontaminate=self.decontaminate,
            unicode=self.repair,
        )
        lines: tuple[str, ...] = ()
        if BOILERPLATE in asked.edits:
            lines = boilerplate_lines(read_sample(sources, field=field, encoding=encoding, html=html))
        limits = asked.limits
        if self.like is not None:
            if not limits:
                raise BadInput("--like: no rule is on whose limits it could give; add --filters web, or names of rules")
            texts = (document.text for document in read_sample([self.like], field=field, encoding=encoding, html=html))
            limits = trusted_limits(texts, asked)
        return asked.with_learnt(lines, limits)


def try_request(
    sources: Sequence[str],
    request: RuleRequest,
    *,
    field: str = "text",
    encoding: str = UTF8,
    html: str = WHOLE,
    on_document: OnDocument = lambda document, text, drops: None,
) -> RulesTried:
    """What the rules that are asked for would do to a sample; all of them, if none is."""
    start = perf_counter()
    chosen = request.settings(sources, field, encoding, html)
    if not chosen:
        chosen = replace(request, filters=EVERYTHING, language=ANY_LANGUAGE).settings(sources, field, encoding, html)
    with task("Trying", total=None) as step:

        def documents() -> Iterator[Document]:
            for document in read_sample(sources, field=field, encoding=encoding, html=html):
                step(1, note="documents")
                yield document

        trial = try_rules(documents(), chosen, on_document)
    if not trial.documents:
        raise BadInput(f"{sources[0]}: there is no text in it to try rules on")
    return RulesTried(
        sources=tuple(sources),
        documents=trial.documents,
        bytes=trial.bytes,
        dropped=trial.dropped,
        dropped_bytes=trial.dropped_bytes,
        rules=trial.rules,
        languages=trial.languages,
        seconds=perf_counter() - start,
    )
