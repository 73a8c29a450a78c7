from __future__ import annotations

import pytest

from unmask.corpus.read.docstrings import docstring_prose, is_english

NUMPY = """
    Return the largest element of an array.

    The search goes along an axis, which is the last one by
    default [1]_. See also `argmax` and :func:`numpy.min`.

    Parameters
    ----------
    a : array_like
        Input data to be searched.
    axis : int, optional
        Axis along which to operate
    where
        Elements to compare for the maximum.

    Returns
    -------
    max : ndarray
        The maximum of `a`. If `axis` is None, the result is a scalar value.

    See Also
    --------
    min : The smallest element of all of them.

    Notes
    -----
    The cost is linear in the size of the array, that is

    .. math:: O(n)

    .. versionadded:: 1.2
       This function is safe to call from several threads.

    References
    ----------
    .. [1] A. Author, "A book about the things that are in it", 1999.

    Examples
    --------
    It is easy to use this function:

    >>> max([1, 2])
    2
    """
GOOGLE = """Loads a model from the disk.

    Args:
        path (`str`, *optional*, defaults to `None`):
            Where the weights of the model are.
        strict (bool): Whether to raise an error for a missing weight.
            The default is to raise it.
        **kwargs: These are passed on to [`AutoModel`].

    Returns:
        Model: The model that was loaded.

    Example::

        model = load("x")
        the_result_of_it = model(1)

    ```python
    This is a sentence of code.
    ```

    <Tip>

    You can **also** use [the hub](https://hub.example) for that.

    </Tip>

    It takes these values: {"a": 1}. It is fast.
    """
SPHINX = """
    Open the file and give it back::

        This is a literal block of code.

    :param name: The name of the file to open.
    :type name: str
    :raises OSError: If there is no such file
        on the disk.
    :rtype: file

    - The first of the items is here.
    - the second item is written small
      and takes two lines

    +-----+-----+
    | The table is not a sentence. |
    +-----+-----+
    """


def test_numpy_style() -> None:
    assert list(docstring_prose(NUMPY)) == [
        "Return the largest element of an array.",
        "The search goes along an axis, which is the last one by default. See also argmax and numpy.min.",
        "Input data to be searched.",
        "Elements to compare for the maximum.",
        "The maximum of a. If axis is None, the result is a scalar value.",
        "This function is safe to call from several threads.",
    ]


def test_google_style_and_markdown() -> None:
    assert list(docstring_prose(GOOGLE)) == [
        "Loads a model from the disk.",
        "Where the weights of the model are.",
        "Whether to raise an error for a missing weight. The default is to raise it.",
        "These are passed on to AutoModel.",
        "The model that was loaded.",
        "You can also use the hub for that.",
        "It is fast.",
    ]


def test_sphinx_fields_bullets_and_tables() -> None:
    assert list(docstring_prose(SPHINX)) == [
        "The name of the file to open.",
        "If there is no such file on the disk.",
        "The first of the items is here.",
        "The second item is written small and takes two lines.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "This is the first of them.",
        "It's what you'd expect (most of the time)!",
        'The so-called "median" is 3.5 for a list of 10 numbers.',
    ],
)
def test_sentences_of_plain_words_are_english(sentence: str) -> None:
    assert is_english(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "x = f(y)",
        "the beginning is small.",
        "This has no end",
        "This goes on in what follows:",
        "Les chats dorment bien.",
        "Returns f(x) for the x that is given.",
        "See https://example.com for the rest of it.",
        "Set the torch.nn.Module to some_value or other_value.",
        "The value \\alpha is in the set {a}.",
        "Input tensor.",
    ],
)
def test_code_fragments_and_other_languages_are_not(sentence: str) -> None:
    assert not is_english(sentence)
