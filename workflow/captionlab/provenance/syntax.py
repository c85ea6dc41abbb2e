"""What a Python module says, however it is laid out: the digest of its syntax and the names it reaches."""

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from captionlab.errors import DamagedFileError

_SILENT_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Syntax:
    """One module: the hex SHA-256 of its syntax, its imports and the string constants that may name files.

    An import is (level, module, name): `import a.b` is (0, "a.b", ""), `from ..x import y` is (2, "x", "y").
    """

    digest: str
    imports: tuple[tuple[int, str, str], ...]
    strings: tuple[str, ...]


def read_syntax(source: bytes, path: Path | str) -> Syntax:
    """Read one module's source.

    Comments, docstrings, formatting, line numbers and the order of neighbouring imports do not reach the
    digest; empty fields are left out, so that Python versions which add optional fields agree.
    Raises DamagedFileError when the source is not Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise DamagedFileError(
            f"{path} is not Python ({error}): mend it before the workflow can run"
        ) from None
    imports: set[tuple[int, str, str]] = set()
    strings: set[str] = set()
    words: list[str] = []
    _describe(tree, words, imports, strings)
    digest = hashlib.sha256("\x1f".join(words).encode("utf-8", "surrogatepass"))
    return Syntax(digest.hexdigest(), tuple(sorted(imports)), tuple(sorted(strings)))


def _describe(node: ast.AST, words: list[str], imports: set[tuple[int, str, str]], strings: set[str]) -> None:
    words.append(type(node).__name__)
    for field in node._fields:
        value = getattr(node, field, None)
        empty = value is None or value == []
        if field in _SILENT_FIELDS or (empty and not isinstance(node, ast.Constant)):
            continue
        words.append(field)
        if isinstance(value, list):
            if field == "body" and isinstance(node, _DOCUMENTED):
                value = _without_docstring(value)
            words.append("[")
            _describe_list(value, words, imports, strings)
            words.append("]")
        elif isinstance(value, ast.AST):
            _describe(value, words, imports, strings)
        else:
            words.append(repr(value))
            if isinstance(value, str) and isinstance(node, ast.Constant):
                strings.add(value)
    words.append(";")


def _describe_list(
    values: Sequence[object], words: list[str], imports: set[tuple[int, str, str]], strings: set[str]
) -> None:
    block: set[tuple[int, str, str, str]] = set()
    for value in values:
        if isinstance(value, ast.Import | ast.ImportFrom):
            block |= _imported(value)
            continue
        _close_block(block, words, imports)
        if isinstance(value, ast.AST):
            _describe(value, words, imports, strings)
        else:
            words.append(repr(value))
    _close_block(block, words, imports)


def _imported(node: ast.Import | ast.ImportFrom) -> set[tuple[int, str, str, str]]:
    if isinstance(node, ast.Import):
        return {(0, alias.name, "", alias.asname or "") for alias in node.names}
    return {(node.level, node.module or "", alias.name, alias.asname or "") for alias in node.names}


def _close_block(
    block: set[tuple[int, str, str, str]], words: list[str], imports: set[tuple[int, str, str]]
) -> None:
    words.extend(repr(one) for one in sorted(block))
    imports.update((level, module, name) for level, module, name, _ in block)
    block.clear()


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    documented = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    rest = body[1:] if documented else body
    return [statement for statement in rest if not isinstance(statement, ast.Pass)]
