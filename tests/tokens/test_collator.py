"""The collator in others' loops: lists of ids in, transformers' batches out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from transformers import (
    BertConfig,
    BertForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
    XLNetConfig,
    XLNetLMHeadModel,
)

from unmask.corruption import policy
from unmask.errors import BadInput
from unmask.tokens.collator import Collator
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.sentinels import add_sentinels
from unmask.tokens.tokenizer.train import train_tokenizer

SENTENCES = [
    f"the {a} {b} {c} unbelievable {d}, and {c} again."
    for a in ("old", "green", "tiny", "strange")
    for b in ("king", "river", "teacher")
    for c in ("remembers", "crossed")
    for d in ("houses", "mountains")
]
SIZES = {"wordpiece": 90, "bpe": 330, "unigram": 42}


@pytest.fixture(scope="module")
def tokenizers():
    return {kind: train_tokenizer(SENTENCES, kind, size, True) for kind, size in SIZES.items()}


@pytest.fixture
def tokenizer(tokenizers):
    return tokenizers["wordpiece"]


def ids(tokenizer, count=8):
    return [tokenizer(text)["input_ids"] for text in SENTENCES[:count]]


def restored(batch):
    return torch.where(batch["labels"] == -100, batch["input_ids"], batch["labels"])


def test_lists_of_ids_become_a_padded_batch_with_labels(tokenizer):
    rows = ids(tokenizer)
    batch = Collator(tokenizer, seed=0)(rows)
    assert set(batch) == {"input_ids", "attention_mask", "labels"}
    for row, whole, real in zip(rows, restored(batch), batch["attention_mask"], strict=True):
        assert whole[: len(row)].tolist() == row and real.tolist() == [1] * len(row) + [0] * (len(real) - len(row))
        assert set(whole[len(row) :].tolist()) <= {tokenizer.pad_token_id}
    hidden = batch["labels"] != -100
    assert hidden.any(dim=1).all() and not hidden[batch["attention_mask"] == 0].any()
    assert not torch.isin(batch["labels"][hidden], torch.tensor(tokenizer.all_special_ids)).any()


def test_an_example_is_the_same_whatever_the_batch_and_the_padding(tokenizer):
    rows, collator = ids(tokenizer), Collator(tokenizer, "span", seed=3)
    together = collator(rows)
    for number, row in enumerate(rows):
        alone = collator([{"input_ids": row, "attention_mask": [1] * len(row)}])
        assert alone["input_ids"][0].tolist() == together["input_ids"][number][: len(row)].tolist()
        padded = {"input_ids": row + [0] * 5, "attention_mask": [1] * len(row) + [0] * 5}
        assert collator([padded])["labels"][0][: len(row)].tolist() == alone["labels"][0].tolist()


def test_examples_are_the_same_whatever_the_number_of_workers(tokenizer):
    rows, collator = ids(tokenizer, 24), Collator(tokenizer, "word", seed=1)
    gathered = [
        [
            batch["input_ids"].tolist()
            for batch in DataLoader(rows, batch_size=4, collate_fn=collator, num_workers=workers)
        ]
        for workers in (0, 2)
    ]
    assert gathered[0] == gathered[1]


def test_each_epoch_and_each_seed_hides_something_else(tokenizer):
    rows, collator = ids(tokenizer, 24), Collator(tokenizer, seed=1)
    first = collator(rows)["labels"].tolist()
    collator.set_epoch(1)
    assert collator(rows)["labels"].tolist() != first
    assert Collator(tokenizer, seed=2)(rows)["labels"].tolist() != first


def test_lists_arrays_and_tensors_of_ids_are_the_same_to_it(tokenizer):
    rows, collator = ids(tokenizer), Collator(tokenizer, "word")
    expected = collator(rows)["labels"].tolist()
    for kind in (tuple, np.array, torch.tensor, lambda row: {"input_ids": torch.tensor(row)}):
        assert collator([kind(row) for row in rows])["labels"].tolist() == expected


@pytest.mark.parametrize(
    ("example", "line"),
    [
        ("the old king", r'example 1 of the batch is a text: give its ids, tokenizer\(text\)\["input_ids"\]'),
        ({"text": "the old king"}, "example 1 of the batch has no `input_ids`, only text"),
    ],
)
def test_an_example_without_ids_is_named(tokenizer, example, line):
    with pytest.raises(BadInput, match=line):
        Collator(tokenizer)([*ids(tokenizer, 1), example])


def test_an_example_may_bring_a_number_to_be_keyed_by(tokenizer):
    row, collator = ids(tokenizer)[0], Collator(tokenizer, rate=0.5)
    labels = [collator([{"input_ids": row, "number": number}])["labels"].tolist() for number in (1, 1, 2)]
    assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize("kind", SIZES)
def test_the_ids_alone_tell_the_words_of_every_kind_of_tokenizer(tokenizers, kind):
    tokenizer = tokenizers[kind]
    rows = [tokenizer(text)["input_ids"] for text in SENTENCES]
    starts = [[False, *one.word_starts.tolist(), False] for one in encode(tokenizer, SENTENCES)]
    collator = Collator(tokenizer, "word", rate=0.3)
    told = collator(rows)["labels"]
    given = collator([{"input_ids": row, "word_starts": begins} for row, begins in zip(rows, starts, strict=True)])
    assert told.tolist() == given["labels"].tolist()
    sizes = []
    for labels, begins in zip(told.tolist(), starts, strict=True):
        hidden = [label != -100 for label in labels[1 : len(begins) - 1]]
        for word in np.split(hidden, np.flatnonzero(begins[1:-1])[1:]):
            assert len(set(word.tolist())) == 1
            sizes.append(len(word) if word[0] else 0)
    assert max(sizes) > 1, "a word of several tokens is hidden"


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_the_words_of_transformers_will_do(tokenizers, kind):
    collator, encoded = Collator(tokenizers[kind], "word", rate=0.3), [tokenizers[kind](text) for text in SENTENCES]
    given = collator([{"input_ids": one["input_ids"], "word_ids": one.word_ids()} for one in encoded])["labels"]
    assert given.tolist() == collator([one["input_ids"] for one in encoded])["labels"].tolist()


def test_ids_that_do_not_tell_their_words_are_asked_for_them(tokenizers):
    tokenizer = tokenizers["bpe"]
    row = tokenizer.convert_tokens_to_ids(["u", "n", "t", "h", "e"])  # never how the tokenizer cuts this text
    with pytest.raises(BadInput, match="example 0 of the batch: its ids alone do not tell"):
        Collator(tokenizer, "word")([row])
    batch = Collator(tokenizer, "word", rate=1.0)([{"input_ids": row, "word_starts": [1, 0, 1, 0, 0]}])
    assert (batch["labels"] != -100).all()


def test_phrases_are_hidden_whole(tokenizer):
    collator = Collator(tokenizer, "phrase", rate=0.3, phrases=["green king", "tiny teacher"])
    seen = 0
    for text in SENTENCES:
        encoded = tokenizer(text)
        labels = collator([encoded["input_ids"]])["labels"][0].tolist()
        words = encoded.word_ids()
        for phrase in ("green king", "tiny teacher"):
            if phrase in text:
                hidden = {labels[place] != -100 for place, word in enumerate(words) if word in (1, 2)}
                assert len(hidden) == 1
                seen += hidden == {True}
    assert seen


def test_spans_may_come_with_the_examples_and_are_asked_for(tokenizer):
    row = ids(tokenizer)[0]
    collator = Collator(tokenizer, "entity", rate=0.2)
    marks = [0, 1, 1, 1, 1, 1, *[0] * (len(row) - 6)]
    examples = [{"input_ids": row, "spans": marks, "number": number} for number in range(40)]
    hidden = (collator(examples)["labels"] != -100)[:, 1:6]
    assert {tuple(each) for each in hidden.tolist()} == {(True,) * 5, (False,) * 5}
    with pytest.raises(BadInput, match="policy 'entity' needs spans"):
        collator([row])


def test_a_mixture_and_settings_are_taken_as_in_a_plan(tokenizer):
    collator = Collator(tokenizer, "span 0.7, token 0.3", rate=0.4, mask=1.0, random=0.0)
    batch = collator(ids(tokenizer, 24))
    assert (batch["input_ids"][batch["labels"] != -100] == tokenizer.mask_token_id).all()


def test_token_types_are_padded_and_names_prefixed(tokenizer):
    rows = [{"input_ids": row, "token_type_ids": [0] * 3 + [1] * (len(row) - 3)} for row in ids(tokenizer)]
    batch = Collator(tokenizer, prefix="text_", pad_to_multiple_of=16)(rows)
    assert set(batch) == {"text_input_ids", "text_attention_mask", "text_labels", "text_token_type_ids"}
    assert all(array.shape[1] % 16 == 0 for array in batch.values())


def test_no_examples_and_no_mask_token_are_one_clear_line(tokenizer, tokenizers):
    with pytest.raises(BadInput, match="no examples"):
        Collator(tokenizer)([])
    bare = train_tokenizer(SENTENCES, "wordpiece", 90, True)
    bare.mask_token = None
    with pytest.raises(BadInput, match="has no mask token"):
        Collator(bare)


def test_sentinels_train_an_encoder_decoder():
    tokenizer = train_tokenizer(SENTENCES, "wordpiece", 90, True)
    with pytest.raises(BadInput, match="add_sentinels"):
        Collator(tokenizer, "sentinel")
    assert add_sentinels(tokenizer, 20) == 20 and add_sentinels(tokenizer, 20) == 0
    collator = Collator(tokenizer, "sentinel")
    batch = collator(ids(tokenizer))
    zero = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    assert (batch["labels"][:, 0] == zero).all() and (batch["input_ids"] == zero).any(dim=1).all()
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    assert T5ForConditionalGeneration(config)(**batch).loss.isfinite()


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("name", ["token", "word", "span", "ngram"])
def test_short_rows_hide_the_rate_that_was_asked_for(tokenizers, kind, name):
    tokenizer = tokenizers[kind]
    rows = [tokenizer(sentence)["input_ids"] for sentence in SENTENCES]
    assert max(map(len, rows)) < 60
    shares = []
    collator = Collator(tokenizer, name, rate=0.15)
    for epoch in range(400):
        collator.set_epoch(epoch)
        batch = collator(rows)
        shares.append(((batch["labels"] != -100).sum(1) / (batch["attention_mask"].sum(1) - 2)).mean().item())
    assert abs(np.mean(shares) - 0.15) < max(0.0015, 3 * np.std(shares) / np.sqrt(len(shares)))


def test_a_batch_of_several_rows_always_predicts_something(tokenizer):
    collator = Collator(tokenizer, "span", rate=0.02)
    rows = ids(tokenizer, 2)
    for epoch in range(100):
        collator.set_epoch(epoch)
        assert (collator(rows)["labels"] != -100).any()
    collator.set_epoch(0)
    alone = [collator([[*row[:-1], word, row[-1]]]) for row in rows for word in range(5, 45)]
    assert any((batch["labels"] == -100).all() for batch in alone)  # one row alone is as it is drawn


def test_permutations_train_xlnet_and_no_target_sees_itself_or_later_ones(tokenizer):
    rows = ids(tokenizer)
    batch = Collator(tokenizer, "permutation")(rows)
    asked = batch["target_mapping"].argmax(dim=2)
    for line in range(len(rows)):
        count = int((batch["labels"][line] != -100).sum())
        columns = asked[line, :count]
        assert batch["input_ids"][line][columns].tolist() == batch["labels"][line, :count].tolist()
        blocked = batch["perm_mask"][line][columns][:, columns]
        assert (blocked + blocked.T - torch.eye(count) == 1).all()  # of two targets one sees the other; none itself
        context = np.setdiff1d(np.arange(len(rows[line])), columns.numpy())
        assert not batch["perm_mask"][line][:, context].any() and batch["perm_mask"][line][context][:, columns].all()
    torch.manual_seed(0)
    config = XLNetConfig(vocab_size=len(tokenizer), d_model=16, n_layer=1, n_head=2, d_inner=16)
    assert XLNetLMHeadModel(config)(**batch).loss.isfinite()


def test_diffusion_brings_the_weights(tokenizer):
    batch = Collator(tokenizer, "diffusion")(ids(tokenizer))
    hidden = (batch["labels"] != -100).sum(dim=1)
    real = (~torch.isin(restored(batch), torch.tensor(tokenizer.all_special_ids))).sum(dim=1)
    assert torch.allclose(batch["weights"], real / hidden)


@pytest.mark.parametrize("name", sorted(set(policy.POLICIES) - {"entity", "phrase", "collocation", "sentinel"}))
def test_every_policy_collates(tokenizers, name):
    for tokenizer in tokenizers.values():
        batch = Collator(tokenizer, name)(ids(tokenizer))
        assert (batch["labels"] != -100).any()


def small_bert(tokenizer):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    return BertForMaskedLM(config)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_transformers_trainer_takes_three_steps(tokenizer, tmp_path):
    from transformers import Trainer, TrainingArguments

    collator = Collator(tokenizer, policy="word", rate=0.15, seed=0)
    seen = []

    class Watched(Trainer):
        def compute_loss(self, model, inputs, *args, **kwargs):
            seen.append(inputs["input_ids"].tolist())
            return super().compute_loss(model, inputs, *args, **kwargs)

    arguments = TrainingArguments(
        tmp_path,
        max_steps=3,
        per_device_train_batch_size=8,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    rows = [{"input_ids": row} for row in ids(tokenizer, 16)]
    trainer = Watched(
        small_bert(tokenizer),
        arguments,
        train_dataset=rows,
        data_collator=collator,
        callbacks=[collator.each_epoch()],
    )
    result = trainer.train()
    assert result.global_step == 3 and np.isfinite(result.training_loss)
    assert len(seen) == 3 and collator.epoch == 1  # 16 rows by 8: the third step is of the second epoch


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_sentence_transformers_takes_three_steps(tokenizer, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    datasets = pytest.importorskip("datasets")
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    small_bert(tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    encoder = Transformer(str(tmp_path / "model"), model_args={"local_files_only": True})
    model = sentence_transformers.SentenceTransformer(modules=[encoder, Pooling(16)], device="cpu")

    class Restore(torch.nn.Module):
        """The loss of hidden tokens, against the encoder's own embeddings."""

        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, features, labels):
            (batch,) = features
            wanted = batch.pop("labels")
            states = self.model[0](batch)["token_embeddings"]
            logits = states @ self.model[0].auto_model.get_input_embeddings().weight.T
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100)

    collator = Collator(model.tokenizer, policy="word", rate=0.15, seed=0, prefix="text_")
    arguments = sentence_transformers.SentenceTransformerTrainingArguments(
        tmp_path / "run",
        max_steps=3,
        per_device_train_batch_size=8,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    rows = datasets.Dataset.from_list([{"input_ids": row} for row in ids(tokenizer, 16)])
    trainer = sentence_transformers.SentenceTransformerTrainer(
        model, arguments, train_dataset=rows, loss=Restore(model), data_collator=collator
    )
    before = model.encode(["the old king"])
    assert trainer.train().global_step == 3
    assert not np.allclose(before, model.encode(["the old king"]))
