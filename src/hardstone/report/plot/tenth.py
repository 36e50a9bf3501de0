"""Numbers of a drawing, to a tenth."""

from __future__ import annotations


class _Tenths(dict[int, str]):
    """Texts by tenths, made when they are first used: a drawing has few different ones."""

    def __missing__(self, tenths: int) -> str:
        whole, rest = divmod(abs(tenths), 10)
        text = f"{'-' if tenths < 0 else ''}{whole}{f'.{rest}' if rest else ''}"
        if len(self) < _MOST:
            self[tenths] = text
        return text


_MOST = 20_000
_TENTHS = _Tenths()


def tenth(value: float) -> str:
    return _TENTHS[round(value * 10)]


def tenths(values: list[float]) -> list[str]:
    found = _TENTHS
    return [found[round(value * 10)] for value in values]
