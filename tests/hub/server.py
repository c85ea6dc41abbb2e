"""A hub on loopback: what the real `huggingface_hub` client asks for, over HTTP, with faults that a plan injects.

Two ports, as the real one has two hosts: the hub answers metadata and small files, and sends large files (LFS) to
storage by a redirect that carries their digest and size.
"""

import base64
import hashlib
import json
import socket
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

TYPES = {"models": "model", "datasets": "dataset"}
OTHER_BYTES = bytes(byte ^ 1 for byte in range(256))


@dataclass
class Fault:
    """What goes wrong with the next `times` requests whose method and path fit.

    `kind`: status (with `code`, `headers`), html, wrong (other bytes of the same length), cut (half of the body, then
    the connection ends), short (half of the body as if it were all), reset (no answer at all), stall (half of the
    body, then silence for `seconds`).
    """

    kind: str
    path: str
    method: str = "GET"
    times: int = 1_000_000
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    port: str
    method: str
    path: str
    status: int
    ranged: str | None
    token: str | None
    at: float


class Repository:
    """Commits by hash, branches by name, and who may read."""

    def __init__(self, private: bool = False) -> None:
        self.commits: dict[str, dict[str, bytes]] = {}
        self.branches: dict[str, str] = {}
        self.private = private

    def commit(self, files: Mapping[str, bytes], branch: str = "main", *, keep: bool = False) -> str:
        """A commit that holds `files` (with `keep` on top of the branch's); returns its hash."""
        held = dict(self.commits[self.branches[branch]]) if keep and branch in self.branches else {}
        held |= files
        digest = hashlib.sha1(repr(sorted((name, git_digest(data)) for name, data in held.items())).encode())
        self.commits[digest.hexdigest()] = held
        self.branches[branch] = digest.hexdigest()
        return digest.hexdigest()

    def resolve(self, revision: str) -> str | None:
        commit = self.branches.get(revision, revision)
        return commit if commit in self.commits else None


def git_digest(data: bytes) -> str:
    """Git's digest of a file, which the hub gives as the ETag of small files."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class LoopbackHub:
    """Use as a context; `endpoint` is what HF_ENDPOINT should say. Files of `large` bytes and more are LFS files."""

    def __init__(self, large: int = 4096) -> None:
        self.large = large
        self.token = "hf_loopback"
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.lock = threading.Lock()
        self._servers = [self._serve("hub"), self._serve("storage")]
        self.endpoint, self.storage = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def repository(self, repo: str, repo_type: str = "dataset", *, private: bool = False) -> Repository:
        return self.repositories.setdefault((repo_type, repo), Repository(private))

    def put(
        self, repo: str, files: Mapping[str, bytes], repo_type: str = "dataset", branch: str = "main"
    ) -> str:
        """Commit files to a repository, made where it is missing; returns the commit."""
        return self.repository(repo, repo_type).commit(files, branch)

    def take_fault(self, port: str, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                where, _, part = fault.path.rpartition(":")
                if fault.times and fault.method == method and part in path and where in ("", port):
                    fault.times -= 1
                    return fault
        return None

    def _serve(self, port: str) -> ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"hub": self, "port": port})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def __enter__(self) -> "LoopbackHub":
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: LoopbackHub
    port: str
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def handle_any(self) -> None:
        self.fault = self.hub.take_fault(self.port, self.command, unquote(self.path))
        self.body = self._read_body()
        if self.fault and self.fault.kind == "reset":
            self._note(0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif self.fault and self.fault.kind == "status":
            self._error(self.fault.code, self.fault.headers)
        elif self.fault and self.fault.kind == "html":
            self._send(200, b"<html><body>Please log in</body></html>", {"Content-Type": "text/html"})
        elif self.port == "storage":
            self._storage()
        else:
            self._hub()

    do_GET = do_HEAD = do_POST = do_PUT = handle_any  # noqa: N815

    def _storage(self) -> None:
        oid = self.path.rpartition("/")[2]
        if self.command == "PUT":
            self.hub.objects[oid] = self.body
            self._send(200 if hashlib.sha256(self.body).hexdigest() == oid else 400, b"")
        elif oid in self.hub.objects:
            self._send_file(self.hub.objects[oid], {"ETag": f'"{oid}"'})
        else:
            self._error(404)

    def _hub(self) -> None:
        parts = urlsplit(self.path)
        words = [unquote(word) for word in parts.path.strip("/").split("/")]
        if words[:2] == ["api", "whoami-v2"]:
            self._json({"name": "tester", "type": "user", "orgs": []})
        elif words[:2] == ["api", "validate-yaml"]:
            self._json({"errors": [], "warnings": []})
        elif words[:3] == ["api", "repos", "create"]:
            asked = json.loads(self.body)
            repo = f"{asked.get('organization') or 'tester'}/{asked['name']}"
            self.hub.repository(repo, asked.get("type", "model"))
            self._json({"url": f"{self.hub.endpoint}/{repo}", "id": repo})
        elif words[0] == "api" and words[1] in TYPES:
            self._api(TYPES[words[1]], "/".join(words[2:4]), words[4:], parse_qs(parts.query))
        elif words[-4:] == ["info", "lfs", "objects", "batch"]:
            self._lfs_batch()
        elif "resolve" in words:
            at = words.index("resolve")
            kind = TYPES.get(words[0], "model")
            self._resolve(kind, "/".join(words[at - 2 : at]), words[at + 1], "/".join(words[at + 2 :]))
        else:
            self._error(404)

    def _found(self, kind: str, repo: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        held = self.hub.repositories.get((kind, repo))
        allowed = self.headers.get("Authorization") == f"Bearer {self.hub.token}"
        if held is None or (held.private and not allowed):
            # The real hub does not tell the two apart either.
            self._error(401, {"X-Error-Message": "Repository not found", "X-Error-Code": "RepoNotFound"})
            return None
        commit = held.resolve(revision)
        if commit is None:
            self._error(404, {"X-Error-Code": "RevisionNotFound"})
            return None
        return commit, held.commits[commit]

    def _api(self, kind: str, repo: str, rest: list[str], query: Mapping[str, list[str]]) -> None:
        verb = rest[0] if rest else "revision"
        if verb == "preupload":
            files = json.loads(self.body)["files"]
            modes = ["lfs" if file["size"] >= self.hub.large else "regular" for file in files]
            said = [
                {"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": None}
                for file, mode in zip(files, modes, strict=True)
            ]
            self._json({"files": said})
            return
        if verb == "commit":
            self._commit(kind, repo, rest[1])
            return
        found = self._found(kind, repo, rest[1] if len(rest) > 1 else "main")
        if found is None:
            return
        commit, files = found
        if verb == "tree":
            prefix = "".join(f"{word}/" for word in rest[2:])
            self._json([self._entry(name, data) for name, data in files.items() if name.startswith(prefix)])
        else:
            siblings = [{"rfilename": name} for name in files]
            self._json(
                {"id": repo, "_id": repo, "sha": commit, "siblings": siblings, "tags": [], "private": False}
            )

    def _entry(self, name: str, data: bytes) -> dict[str, object]:
        entry: dict[str, object] = {"type": "file", "path": name, "size": len(data), "oid": git_digest(data)}
        if len(data) >= self.hub.large:
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        return entry

    def _resolve(self, kind: str, repo: str, revision: str, file: str) -> None:
        found = self._found(kind, repo, revision)
        if found is None:
            return
        commit, files = found
        if file not in files:
            self._error(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
            return
        data = files[file]
        if len(data) < self.hub.large:
            self._send_file(data, {"ETag": f'"{git_digest(data)}"', "X-Repo-Commit": commit})
            return
        oid = hashlib.sha256(data).hexdigest()
        self.hub.objects[oid] = data
        self._send(
            302,
            b"",
            {
                "Location": f"{self.hub.storage}/{repo}/{oid}",
                "X-Linked-Etag": f'"{oid}"',
                "X-Linked-Size": str(len(data)),
                "X-Repo-Commit": commit,
            },
        )

    def _lfs_batch(self) -> None:
        wanted = json.loads(self.body)["objects"]
        objects = [
            {**o, "actions": {"upload": {"href": f"{self.hub.storage}/upload/{o['oid']}"}}}
            for o in wanted
            if o["oid"] not in self.hub.objects
        ]
        self._json(
            {"transfer": "basic", "objects": objects}, {"Content-Type": "application/vnd.git-lfs+json"}
        )

    def _commit(self, kind: str, repo: str, branch: str) -> None:
        files: dict[str, bytes] = {}
        for line in self.body.decode().splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "lfsFile":
                files[value["path"]] = self.hub.objects[value["oid"]]
        commit = self.hub.repository(repo, kind).commit(files, branch, keep=True)
        url = f"{self.hub.endpoint}/{repo}/commit/{commit}"
        self._json({"commitUrl": url, "commitOid": commit, "hookOutput": ""})

    def _send_file(self, data: bytes, headers: Mapping[str, str]) -> None:
        kind = self.fault.kind if self.fault else ""
        if kind == "wrong":
            data = data.translate(OTHER_BYTES)
        if kind == "short":
            data = data[: len(data) // 2]
        ranged = self.headers.get("Range")
        status, extra = 200, {"Accept-Ranges": "bytes"}
        if ranged is not None:
            first = int(ranged.removeprefix("bytes=").split("-")[0])
            status, extra["Content-Range"] = 206, f"bytes {first}-{len(data) - 1}/{len(data)}"
            data = data[first:]
        self._send(
            status, data, {**extra, **headers}, sent=len(data) // 2 if kind in ("cut", "stall") else None
        )
        if kind == "stall" and self.fault:
            time.sleep(self.fault.seconds)

    def _json(self, value: object, headers: Mapping[str, str] | None = None) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _error(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, b"", headers or {})

    def _send(
        self, status: int, data: bytes, headers: Mapping[str, str] | None = None, sent: int | None = None
    ) -> None:
        self._note(status)
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data if sent is None else data[:sent])
            self.wfile.flush()
        if sent is not None:
            self.close_connection = True

    def _note(self, status: int) -> None:
        token = self.headers.get("Authorization")
        noted = (unquote(self.path), status, self.headers.get("Range"), token, time.monotonic())
        with self.hub.lock:
            self.hub.requests.append(Request(self.port, self.command, *noted))

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))
