"""Questions to answers: by models that stay in memory, with limits, several requests at once.

In: a place and what is asked of it. Out: results of the verbs. Models are loaded by their own threads with the first
question; what is computed is computed there, and whoever waits too long is told so.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.errors import BadInput, Damaged, UnmaskError
from unmask.results import Embedded, Searched
from unmask.runs.directory import DESCRIPTION
from unmask.tokens.store.manifest import COLLOCATIONS, ENTITIES
from unmask.web.batching import Answerer, BatchWorker, Load
from unmask.web.limits import Limits
from unmask.web.places import INDEX, Place, Served
from unmask.web.questions import (
    ContextsQuestion,
    EmbedQuestion,
    ExplainQuestion,
    FillQuestion,
    GrowQuestion,
    HidingQuestion,
    MomentsQuestion,
    PredictQuestion,
    ScoreQuestion,
    SearchQuestion,
)
from unmask.web.untrusted import own_json

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from transformers import PreTrainedTokenizerFast

    from unmask.inference.contexts import CorpusWords
    from unmask.inference.index import Index
    from unmask.inference.model import Model
    from unmask.inference.moments import MomentModels
    from unmask.inference.show import Phrases

SAMPLE = 2_000_000  # characters of a corpus that contexts are looked for in
MOST_CORPORA = 4  # whose words stay in memory, some megabytes each
MOST_MOMENTS = 24  # of a run, evenly spread
Answers = Sequence[Any]  # a result for each item, or the BadInput that says what is wrong with it


class TooSlow(UnmaskError):
    """An answer took longer than may be waited for."""


@dataclass
class AnswerDesk:
    """Everything that answers."""

    served: Served
    limits: Limits
    load: Load = field(init=False)
    lock: threading.Lock = field(default_factory=threading.Lock)  # of what is loaded, which takes a while
    gate: threading.Lock = field(default_factory=threading.Lock)  # of the threads
    models: dict[str, Model] = field(default_factory=dict)
    moment_models: dict[str, MomentModels] = field(default_factory=dict)  # each a copy of its own: its weights change
    workers: dict[str, BatchWorker] = field(default_factory=dict)
    tokenizers: dict[str, PreTrainedTokenizerFast] = field(default_factory=dict)
    indexes: dict[str, tuple[int, Index]] = field(default_factory=dict)
    lists: dict[str, tuple[int, dict[str, list[str]]]] = field(default_factory=dict)  # with when they were changed
    corpora: dict[tuple[str, str], CorpusWords] = field(default_factory=dict)  # by model and corpus

    def __post_init__(self) -> None:
        self.load = Load(self.limits.waiting)

    def model(self, place: Place) -> Model:
        """The model of a place, which stays."""
        from unmask.inference.model import load

        with self.lock:
            if place.id not in self.models:
                assert place.model is not None
                self.models[place.id] = load(place.model)
            return self.models[place.id]

    def tokenizer(self, place: Place) -> PreTrainedTokenizerFast:
        """The tokenizer of a place, which stays."""
        from unmask.tokens.tokenizer.load import load_tokenizer

        with self.lock:
            if place.id not in self.tokenizers:
                assert place.tokenizer is not None
                self.tokenizers[place.id] = load_tokenizer(place.tokenizer)
            return self.tokenizers[place.id]

    def index(self, place: Place) -> Index:
        """The index of a place, opened again when it has changed."""
        from unmask.inference.index import SEGMENTS, Index

        changed = (place.path / INDEX).stat().st_mtime_ns
        with self.lock:
            if place.id not in self.indexes or self.indexes[place.id][0] != changed:
                opened = Index.open(place.path)
                names = [opened.manifest["words"], *(f"{SEGMENTS}/{name}" for name in opened.manifest["segments"])]
                if not all((place.path / str(name)).resolve().is_relative_to(place.path.resolve()) for name in names):
                    raise BadInput(f"{place.id}: its index.json names files outside of it")
                self.indexes[place.id] = changed, opened
            return self.indexes[place.id][1]

    def phrases(self, place: Place, question: HidingQuestion) -> Phrases:
        """What is hidden whole: what was sent, or the lists of a data directory, this one's where none is named."""
        from unmask.inference.show import lists_of_data

        if question.phrases:
            return question.phrases
        source = place if question.phrases_of is None else self.served[question.phrases_of]
        if not source.has_lists:
            if question.phrases_of is not None:
                raise BadInput(
                    f"{source.id}: has no lists of what is hidden whole; unmask show {source.id} TEXT --policy entity "
                    "mines them"
                )
            return ()
        changed = max((source.path / name).stat().st_mtime_ns for name in (COLLOCATIONS, ENTITIES))
        with self.lock:
            if self.lists.get(source.id, (0,))[0] != changed:
                self.lists[source.id] = changed, lists_of_data(source.path)
            return self.lists[source.id][1]

    def check_tokens(self, place: Place, texts: Sequence[str], *, costly: bool = False) -> None:
        """Refuse more tokens than may be read at once."""
        from unmask.tokens.tokenizer.encode import encode

        limit = self.limits.costly_tokens if costly else self.limits.tokens
        if place.tokenizer is None or sum(map(len, texts)) <= limit:  # no token has less than a character, nearly
            return
        tokens = sum(len(row.ids) for row in encode(self.tokenizer(place), list(texts)))
        if tokens > limit:
            raise BadInput(f"{tokens:,} tokens in one request; {limit:,} may be asked about, send fewer at a time")

    async def ask(self, place: Place, kind: Hashable, items: list[Any], answerer: Answerer) -> Answers:
        """Have items answered by the thread of a place, with those of others that ask the same way."""
        with self.gate:
            if place.id not in self.workers:
                self.workers[place.id] = BatchWorker(place.id, self.load, self.limits.together)
            worker = self.workers[place.id]
        future = worker.submit(kind, items, answerer)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except TimeoutError:
            raise TooSlow(f"no answer within {self.limits.seconds:g} seconds; ask for less at a time") from None

    async def alone(self, place: Place, answerer: Callable[[], Sequence[Any]]) -> Answers:
        """Have something done by the thread of a place, by itself."""
        (answers,) = await self.ask(place, object(), [None], lambda _: [list(answerer())])
        return list(answers)

    async def fill(self, question: FillQuestion) -> Answers:
        """Blanks filled."""
        place = self.served.able(question.model, "fill")
        await self._check(place, question.texts, costly=question.explain)
        settings: dict[str, Any] = question.model_dump(exclude={"model", "texts"})
        return await self.ask(
            place,
            ("fill", repr(settings)),
            question.texts,
            lambda texts: self.model(place).fill_each(texts, **settings),
        )

    async def moments(self, question: MomentsQuestion) -> Answers:
        """Blanks filled at each moment that a run has kept."""
        from unmask.inference.fill import fill_good

        place = self.served.able(question.model, "run")
        await self._check(place, [question.text], costly=True)

        def fill() -> Iterator[dict[str, Any]]:
            models = self._moment_models(place)
            for moment in models.moments:
                try:
                    model = models.at(moment)
                except Damaged:
                    if moment.folder.is_dir():
                        raise
                    continue  # a run that trains keeps its newest alone: this one was let go meanwhile
                (filled,) = fill_good(model, [question.text], top=question.top)
                said = {"error": str(filled)} if isinstance(filled, BadInput) else asdict(filled)
                yield {"step": moment.step, "names": moment.names, "filled": said}

        return await self.alone(place, lambda: list(fill()))

    def _moment_models(self, place: Place) -> MomentModels:
        """The model of a run at the moments that are kept now."""
        from unmask.inference.moments import MomentModels

        if place.id not in self.moment_models:
            self.moment_models[place.id] = MomentModels.open(place.path, most=MOST_MOMENTS)
        models = self.moment_models[place.id].with_moments(MOST_MOMENTS)
        self.moment_models[place.id] = models
        return models

    async def contexts(self, question: ContextsQuestion) -> Answers:
        """Where a corpus has a word, and others, in contexts like its own."""
        place, corpus = self.served.able(question.model, "embed"), self.served.able(question.corpus, "corpus")
        word = question.word.strip()
        if not word:
            raise BadInput("word: give a word to look for")

        def look() -> Answers:
            words = self._corpus_words(place, corpus)
            return [words.nearest(question.before, word, question.after, question.top)]

        return await self.alone(place, look)

    def _corpus_words(self, place: Place, corpus: Place) -> CorpusWords:
        """The words of a corpus as a model has them, which stay; of a few corpora at a time."""
        from unmask.inference.contexts import CorpusWords, corpus_sentences

        key = place.id, corpus.id
        if key not in self.corpora:
            words = CorpusWords.read(self.model(place).encoder, corpus_sentences(self._texts(corpus)))
            with self.lock:
                while len(self.corpora) >= MOST_CORPORA:
                    self.corpora.pop(next(iter(self.corpora)))
                self.corpora[key] = words
        return self.corpora[key]

    def _texts(self, corpus: Place) -> Iterator[str]:
        """A sample of the texts of an index or of a data directory."""
        from unmask.tokens.store.dataset import Dataset

        if "search" in corpus.abilities:
            index, held = self.index(corpus), 0
            for number in range(0, len(index), max(1, len(index) // 4_000)):
                text = index.record(number).text
                held += len(text)
                yield text
                if held > SAMPLE:
                    return
        else:
            yield from Dataset.open(corpus.path).sample("train", SAMPLE)

    async def score(self, question: ScoreQuestion) -> Answers:
        """How likely texts are."""
        place = self.served.able(question.model, "score")
        beside = len(question.texts) * [question.prefix, question.suffix]
        await self._check(place, [*question.texts, *beside], costly=True)
        settings = question.model_dump(exclude={"model", "texts"})
        return await self.ask(
            place,
            ("score", repr(settings)),
            question.texts,
            lambda texts: list(self.model(place).score_each(texts, **settings)),
        )

    async def embed(self, question: EmbedQuestion) -> Answers:
        """Texts as vectors."""
        place = self.served.able(question.model, "embed")
        await self._check(place, question.texts)
        settings: dict[str, Any] = question.model_dump(exclude={"model", "texts"})

        def embed(texts: list[str]) -> list[Embedded | BadInput]:
            made = self.model(place).embed_each(texts, **settings)
            return [
                each if isinstance(each, BadInput) else each.as_result(text)
                for text, each in zip(texts, made, strict=True)
            ]

        return await self.ask(place, ("embed", repr(settings)), question.texts, embed)

    async def predict(self, question: PredictQuestion) -> Answers:
        """What a tuned model says."""
        place = self.served.able(question.model, "predict")
        if question.pairs is not None and len(question.pairs) != len(question.texts):
            raise BadInput(f"{len(question.texts)} texts and {len(question.pairs)} pairs: give as many of each")
        await self._check(place, [*question.texts, *(question.pairs or ())])
        lines: list[Any] = list(question.texts)
        if question.pairs is not None:
            lines = list(zip(question.texts, question.pairs, strict=True))
        kind = ("predict", question.pairs is not None)
        return await self.ask(place, kind, lines, lambda lines: self.model(place).predict_each(lines))

    async def search(self, question: SearchQuestion) -> list[Searched]:
        """Passages of an index."""
        place = self.served.able(question.index, "search")
        index = await asyncio.to_thread(self.index, place)
        encoder = self.encoder_of(index)
        from unmask.inference.search import default_way, search_index

        by = question.by or default_way(index)
        await self._check(encoder or place, question.queries)
        if by == "bm25":

            def search(queries: list[str]) -> list[Searched]:
                return search_index(index, queries, None, by=by, top=question.top)

            return list(await self.ask(place, ("bm25", question.top), question.queries, search))
        if encoder is None:
            raise BadInput(f"{place.id}: the vectors are of a model that is not served; serve it too, or ask by bm25")

        def search_vectors(queries: list[str]) -> list[Searched]:
            return self.model(encoder).search_open(index, queries, by=by, top=question.top, exact=question.exact)

        kind = ("search", place.id, by, question.top, question.exact)
        return list(await self.ask(encoder, kind, question.queries, search_vectors))

    def encoder_of(self, index: Index) -> Place | None:
        """The place of the model that an index was made with; another path than those served is not followed."""
        return self.served.of_path(Path(index.settings.model))

    async def grow(self, question: GrowQuestion) -> Answers:
        """A text that a model writes, and how it came to be."""
        place = self.served.able(question.model, "grow")
        await self._check(place, [question.text, question.prefix], costly=True)
        settings = question.model_dump(exclude={"model", "text"}, exclude_none=True)

        def write() -> Answers:
            texts = [question.text] if question.text else []
            (written,) = self.model(place).generate_each(texts, trace=True, **settings)
            return [written] if isinstance(written, BadInput) else written

        return await self.alone(place, write)

    async def explain(self, question: ExplainQuestion) -> Answers:
        """Which words of a text mattered for its label; the model that the classifier started from must be served."""
        place = self.served.able(question.model, "predict")
        await self._check(place, [question.text, question.pair or ""], costly=True)
        start = self.start_of(place)
        if start is None:
            raise BadInput(
                f"{place.id}: what could stand in the place of words is said by the model that it started from; "
                "serve that too"
            )

        def explain() -> Answers:
            line = question.text if question.pair is None else (question.text, question.pair)
            settings = question.model_dump(include={"label", "changes"})
            return list(self.model(place).explain_each([line], **settings))

        answers = await self.alone(place, explain)
        return [each if isinstance(each, BadInput) else asdict(each) | {"start": start.id} for each in answers]

    def start_of(self, place: Place) -> Place | None:
        """The place of the model that a tuned one started from; another path than those served is not followed."""
        description = own_json(place.path, DESCRIPTION)
        places = description.get("places") if isinstance(description, dict) else None
        path = places.get("model") if isinstance(places, dict) else None
        return self.served.of_path(Path(path)) if isinstance(path, str) and "\0" not in path else None

    async def _check(self, place: Place, texts: Sequence[str], *, costly: bool = False) -> None:
        await asyncio.to_thread(self.check_tokens, place, texts, costly=costly)
