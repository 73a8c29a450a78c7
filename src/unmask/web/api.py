"""The JSON API: what the verbs answer on the command line, over HTTP and to the digit.

In: questions (`unmask.web.questions`). Out: results as `--json` prints them, in the order of the texts; in the place of
one that cannot be used stands what is wrong with it. Paths are ids here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse

from unmask import __version__
from unmask.corruption.policy import PAPERS, POLICIES
from unmask.errors import BadInput
from unmask.models.locate import TASK
from unmask.results import to_plain
from unmask.runs.directory import DESCRIPTION
from unmask.runs.moments import kept_moments
from unmask.web import questions as q
from unmask.web.answering import MOST_MOMENTS, AnswerDesk
from unmask.web.following import RunDetail, RunFollower
from unmask.web.metrics import Metrics
from unmask.web.places import INDEX, Place
from unmask.web.tuned_runs import TunedDetail, describe_tuned
from unmask.web.untrusted import own_json

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": q.Refusal, "description": why}
    for status, why in {
        401: "no key, or another one",
        403: "asked by the page of another site",
        404: "nothing is served by that id",
        413: "the body is too large",
        421: "another Host than this server's",
        422: "what is asked for cannot be meant; the line says which field",
        500: "a file is damaged, or an error of unmask's own",
        503: "too many requests are waiting; try again after the seconds of Retry-After",
        504: "no answer in time",
    }.items()
}


def api_router(answering: AnswerDesk, metrics: Metrics) -> APIRouter:
    """The routes that answer."""
    router = APIRouter(prefix="/api", responses=REFUSALS)
    _add_questions(router, answering)
    _add_hiding(router, answering)
    _add_facts(router, answering, metrics)
    _add_runs(router, answering)
    return router


def _add_questions(router: APIRouter, answering: AnswerDesk) -> None:
    @router.post("/fill", response_model=q.FillAnswers)
    async def fill(question: q.FillQuestion) -> JSONResponse:
        """Fill the blanks of texts, with probabilities; several blanks agree."""
        return answer_list(await answering.fill(question))

    @router.post("/moments", response_model=q.MomentAnswers)
    async def moments(question: q.MomentsQuestion) -> JSONResponse:
        """Fill the blanks of a text as a run's model would have at each moment that was kept."""
        return answer_list(await answering.moments(question))

    @router.post("/contexts", response_model=q.ContextsAnswers)
    async def contexts(question: q.ContextsQuestion) -> JSONResponse:
        """Find where a data directory or an index has a word, and others, in contexts like its own."""
        return answer_list(await answering.contexts(question))

    @router.post("/score", response_model=q.ScoreAnswers)
    async def score(question: q.ScoreQuestion) -> JSONResponse:
        """Say how likely a model finds texts, in nats."""
        return answer_list(await answering.score(question))

    @router.post("/embed", response_model=q.EmbedAnswers)
    async def embed(question: q.EmbedQuestion) -> JSONResponse:
        """Turn texts into vectors."""
        return answer_list(await answering.embed(question))

    @router.post("/predict", response_model=q.PredictAnswers)
    async def predict(question: q.PredictQuestion) -> JSONResponse:
        """Ask a tuned model: labels, entities, answers, how alike texts are."""
        return answer_list(await answering.predict(question))

    @router.post("/explain", response_model=q.ExplainAnswers)
    async def explain(question: q.ExplainQuestion) -> JSONResponse:
        """Tell which words of a text mattered for the label of a classifier."""
        return answer_list(await answering.explain(question))

    @router.post("/search", response_model=q.SearchAnswers)
    async def search(question: q.SearchQuestion) -> JSONResponse:
        """Find the passages of an index that answer a query."""
        answers = [asdict(each) | {"index": question.index} for each in await answering.search(question)]
        return answer_list(answers)

    @router.post("/grow", response_model=q.GrowAnswers)
    async def grow(question: q.GrowQuestion) -> JSONResponse:
        """Have a model write, and tell in which order its tokens came."""
        return answer_list(await answering.grow(question))


def _add_hiding(router: APIRouter, answering: AnswerDesk) -> None:
    @router.post("/show", response_model=q.ShowAnswers)
    def show(question: q.ShowQuestion) -> JSONResponse:
        """Show a text as a model will see it: what a policy hides, or each of them."""
        from unmask.inference.show import show_all, show_text

        place = answering.served.able(question.model, "hide")
        answering.check_tokens(place, [question.text])
        tokenizer = answering.tokenizer(place)
        settings: dict[str, Any] = {"rate": question.rate, "seed": question.seed, "epoch": question.epoch}
        settings["phrases"] = answering.phrases(place, question)
        if question.all:
            return answer_list(show_all(tokenizer, question.text, **settings))
        return answer_list([show_text(tokenizer, question.text, question.policy, **settings)])

    @router.post("/roll", response_model=q.RollAnswers)
    def roll(question: q.RollQuestion) -> JSONResponse:
        """Hide in a text many times over: the realised rate, the units, and how often each position is hidden."""
        from unmask.inference.rolls import roll_text

        place = answering.served.able(question.model, "hide")
        answering.check_tokens(place, [question.text], costly=True)
        settings = question.model_dump(include={"rate", "seed", "rolls"})
        phrases, tokenizer = answering.phrases(place, question), answering.tokenizer(place)
        return answer_list([roll_text(tokenizer, question.text, question.policy, phrases=phrases, **settings)])

    @router.get("/policies", response_model=q.PolicyList)
    def policies() -> q.PolicyList:
        """Every policy, where it was published, and its rate."""
        return q.PolicyList(
            policies=[
                q.PolicyFacts(
                    name=name, paper=PAPERS.get(name, ""), rate=how.rate, needs_phrases=how.properties.needs_spans
                )
                for name, how in POLICIES.items()
            ]
        )


def _add_facts(router: APIRouter, answering: AnswerDesk, metrics: Metrics) -> None:
    @router.get("/places", response_model=q.PlaceList)
    def places() -> q.PlaceList:
        """What is served, and what can be asked of it."""
        return q.PlaceList(places=[describe_place(answering, place) for place in answering.served.places.values()])

    @router.get("/health", response_model=q.Health)
    def health() -> q.Health:
        """That the server lives, how much waits, and the limits of a request."""
        load = answering.load
        return q.Health(
            status="busy" if load.unfinished >= load.capacity else "ok",
            version=__version__,
            places=len(answering.served.places),
            queue=q.QueueState(unfinished=load.unfinished, capacity=load.capacity),
            limits=asdict(answering.limits),
        )

    @router.get("/metrics", response_class=PlainTextResponse)
    def count() -> str:
        """Counts and seconds by route, as Prometheus reads them."""
        return metrics.text()


def _add_runs(router: APIRouter, answering: AnswerDesk) -> None:
    followers = {place.id: RunFollower(place) for place in answering.served.places.values() if place.is_run}

    @router.get("/runs/{id}", response_model=RunDetail)
    def run(id: q.Id, seen: Annotated[str, Query(max_length=200)] = "") -> RunDetail:
        """A run as it stands, its curves and what came of it; `seen` is the version that is already known."""
        place = answering.served[id]
        if id not in followers:
            raise BadInput(f"{place.id}: is no run")
        return followers[id].look(seen)

    @router.get("/tuned/{id}", response_model=TunedDetail)
    def tuned(id: q.Id) -> TunedDetail:
        """What came of a tuning: figures, confusions, errors, and how sure it was of each test example."""
        return describe_tuned(answering.served.able(id, "predict"))


def describe_place(answering: AnswerDesk, place: Place) -> q.ServedPlace:
    """What a page has to know of a place."""
    card = own_json(place.model, TASK) if place.model is not None else None
    card = card if isinstance(card, dict) else {}
    fills = _fills_blanks(place)
    described = q.ServedPlace(
        id=place.id,
        name=place.name,
        abilities=list(place.abilities if place.is_there else answering.served.abilities[place.id]),
        state="there" if place.is_there else "vanished",
        phrases=place.has_lists,
        fills=fills,
        moments=len(kept_moments(place.path, MOST_MOMENTS)) if fills and place.has_shape else 0,
        task=str(card["task"]) if "task" in card else None,
        pair=card.get("pair_field") is not None,
        explains=card.get("task") == "classify" and answering.start_of(place) is not None,
    )
    if "search" in place.abilities:
        settings = own_json(place.path, INDEX)
        settings = settings.get("settings") if isinstance(settings, dict) else None
        settings = settings if isinstance(settings, dict) else {}
        encoder = _encoder(answering, settings.get("model"))
        described = described.model_copy(
            update={"encoder": None if encoder is None else encoder.id, "head": str(settings.get("head", "dense"))}
        )
    return described


def _fills_blanks(place: Place) -> bool:
    """Whether this is a run that was trained, or is being trained, to fill blanks."""
    description = own_json(place.path, DESCRIPTION) if place.is_run else None
    uses = description.get("uses") if isinstance(description, dict) else None
    return isinstance(uses, list) and any(str(use).startswith("unmask fill") for use in uses)


def _encoder(answering: AnswerDesk, path: object) -> Place | None:
    try:
        return answering.served.of_path(Path(path)) if isinstance(path, str) else None
    except (OSError, ValueError, RuntimeError):
        return None


def answer_list(answers: Sequence[Any] | Iterable[Any]) -> JSONResponse:
    """Results as `--json` has them; of a text that cannot be used, what is wrong with it."""
    return JSONResponse({"answers": [_plain(answer) for answer in answers]})


def _plain(answer: Any) -> Any:
    if isinstance(answer, BadInput):
        return {"error": str(answer)}
    return to_plain(answer if isinstance(answer, dict) else asdict(answer))
