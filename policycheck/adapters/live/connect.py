"""A way to the API server of a context: requests, pages of bytes, and errors that say what to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2
    from lightkube.config.kubeconfig import SingleConfig

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
CONNECT = 10.0  # seconds to reach the server
READ = 60.0  # seconds without a byte of an answer
_TRIES = 4  # of a read that the server could not answer just now
_PAUSE = 0.5  # seconds before the second try; doubles
_LONGEST = 10.0  # seconds that Retry-After may ask for
_BUSY = frozenset({429, 500, 502, 503, 504})
_EXEC_OLD, _EXEC_NEW = "client.authentication.k8s.io/v1beta1", "client.authentication.k8s.io/v1"
_PATHS = {
    "clusters": ("cluster", ("certificate-authority",)),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
}


class LiveError(Exception):
    """A cluster could not be reached or read; the text says why and what to do."""


class ApiError(LiveError):
    """The API server answered, and not with what was asked for. ``code`` is the status (403, 404, 410, ...)."""

    def __init__(self, code: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class Connection:
    """One signed-in client. Threads may share it."""

    def __init__(self, client: httpx2.Client, context: str, sleep: Callable[[float], object]) -> None:
        self.context = context
        self._client = client
        self._sleep = sleep

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        """The decoded answer. Tries again when the server is busy or the connection broke.

        Raises ApiError, LiveError.
        """
        pause = _PAUSE
        for left in range(_TRIES - 1, -1, -1):
            try:
                return self.send("GET", path, params=params)
            except ApiError as error:
                if error.code not in _BUSY or not left:
                    raise
            except LiveError:
                if not left:
                    raise
            self._sleep(pause)
            pause = min(2 * pause, _LONGEST)
        raise AssertionError  # the last try returns or raises

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        params: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> Any:
        """One request, once; ``kind`` is the media type of ``body``. Raises ApiError, LiveError."""
        import msgspec

        content = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": kind} if content is not None else {}
        with self._told():
            try:
                answer = self._client.request(method, path, params=params, content=content, headers=headers)
            except (KeyError, ValueError) as error:  # a plugin that gives something else than a token
                raise LiveError(
                    f"{self.context}: the plugin that signs in gave no token ({error!r})"
                ) from error
            if answer.status_code >= 400:
                raise _error(answer.status_code, answer.content)
            try:
                return msgspec.json.decode(answer.content) if answer.content else None
            except msgspec.DecodeError as error:
                raise LiveError(
                    f"{self.context}: what answers at {path} is no API server: {error}"
                ) from error

    @contextmanager
    def stream(self, path: str, params: Mapping[str, str], *, silence: float) -> Iterator[Iterator[bytes]]:
        """Lines of an answer that goes on, each as it comes. ``silence``: seconds without any that end it.

        Raises ApiError, LiveError, also while lines are taken.
        """
        import httpx2

        timeout = httpx2.Timeout(CONNECT, read=silence)
        with self._told(), self._client.stream("GET", path, params=params, timeout=timeout) as answer:
            if answer.status_code >= 400:
                raise _error(answer.status_code, answer.read())
            yield _lines(answer.iter_bytes())

    def close(self) -> None:
        """Ends all connections."""
        self._client.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the HTTP client and the way to sign in raise, in our words."""
        import httpx2
        from lightkube.core.exceptions import ConfigError

        where = f"{self.context} ({self._client.base_url})"
        try:
            yield
        except httpx2.TimeoutException as error:
            raise LiveError(
                f"{where} does not answer in time; is the server up, and the network open?"
            ) from error
        except httpx2.HTTPError as error:
            raise LiveError(f"{where} can not be reached: {error or type(error).__name__}") from error
        except (ConfigError, OSError) as error:
            raise LiveError(f"{where}: signing in failed: {error}") from error


def connect(context: str = "", *, sleep: Callable[[float], object] = time.sleep) -> Connection:
    """A connection by the name of a context; "" is the current one, or the service account inside of a pod.

    Raises LiveError when there is no such context, or the library for it is not installed.
    """
    try:
        import httpx2
        from lightkube.config import client_adapter
        from lightkube.core.exceptions import ConfigError
    except ModuleNotFoundError as error:
        raise LiveError(
            f"reading a cluster needs {error.name}: install it with `pip install 'policycheck[live]'`"
        ) from error
    timeout = httpx2.Timeout(READ, connect=CONNECT)
    try:
        config, proxy = _config(context)
        params = client_adapter.ConnectionParams(timeout=timeout, trust_env=True, proxy=proxy)
        client = client_adapter.Client(config, params)
    except (ConfigError, OSError, ValueError) as error:
        raise LiveError(f"cluster:{context}: {error}") from error
    return Connection(client, f"cluster:{context or config.context_name}", sleep)


def _config(context: str) -> tuple[SingleConfig, str | None]:
    """What a context says, and the proxy that is named there. Raises LiveError."""
    from lightkube.config.kubeconfig import KubeConfig
    from lightkube.config.models import NameValue, User

    files, proxy = _files(), None
    if not context and not files and "KUBERNETES_SERVICE_HOST" in os.environ:
        found = KubeConfig.from_service_account(ACCOUNT).get()
    else:
        merged = _merged(files)
        names = [one["name"] for one in merged["contexts"]]
        wanted = context or merged.get("current-context")
        if not files:
            raise LiveError(_no_file(context))
        if not wanted:
            raise LiveError(f"no current context is set; there are {_list(names)}")
        if wanted not in names:
            raise LiveError(f"no context {wanted!r} in {_list(map(str, files))}; there are {_list(names)}")
        try:
            found = KubeConfig.from_dict(merged).get(wanted)
        except (KeyError, TypeError) as error:
            raise LiveError(f"context {wanted!r} names {error}, which no kubeconfig file defines") from error
        proxy = _proxy(merged, wanted)
    assert found is not None  # noqa: S101 - get() without a default returns or raises
    user = found.user or User()
    if user.exec is not None and user.exec.apiVersion == _EXEC_NEW:
        # The newest form of plugins gives a token in the same place. It may ask for what is told here.
        user.exec.apiVersion = _EXEC_OLD
        told = f'{{"apiVersion":"{_EXEC_NEW}","kind":"ExecCredential","spec":{{"interactive":false}}}}'
        user.exec.env = [*(user.exec.env or ()), NameValue("KUBERNETES_EXEC_INFO", told)]
    return found._replace(user=user), proxy


def _proxy(merged: Mapping[str, Any], context: str) -> str | None:
    """What the library leaves out of a cluster: the proxy; and what is refused because it can not be heeded."""
    named = {one["name"]: one.get("context") or {} for one in merged["contexts"]}[context]
    clusters = {one["name"]: one.get("cluster") or {} for one in merged["clusters"]}
    cluster = clusters.get(named.get("cluster"), {})
    if cluster.get("tls-server-name"):
        raise LiveError(
            f"the cluster of context {context!r} has a tls-server-name, which is not supported here: "
            "name the server as its certificate does"
        )
    return cluster.get("proxy-url") or None


def _files() -> list[Path]:
    """Kubeconfig files that are there, in the order in which they count."""
    said = os.environ.get("KUBECONFIG", "")
    named = [Path(part) for part in said.split(os.pathsep) if part] or [Path("~/.kube/config")]
    return [file for file in (path.expanduser() for path in named) if file.is_file()]


def _no_file(context: str) -> str:
    said = os.environ.get("KUBECONFIG")
    where = f"KUBECONFIG is {said!r}, where no file is" if said else "there is no ~/.kube/config"
    return f"no kubeconfig for cluster:{context}: {where}; set KUBECONFIG to yours"


def _merged(files: list[Path]) -> dict[str, Any]:
    """All files as one, as kubectl has it: the first that says something counts. Names of files in them
    count from the folder of the file that says them.
    """
    import yaml

    merged: dict[str, Any] = {"clusters": [], "users": [], "contexts": []}
    for file in files:
        try:
            value = yaml.safe_load(file.read_text("utf-8")) or {}
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise LiveError(f"{file} can not be read: {' '.join(str(error).split())[:200]}") from error
        if not isinstance(value, dict):
            raise LiveError(f"{file} is no kubeconfig: a mapping is expected")
        if value.get("current-context"):
            merged.setdefault("current-context", value["current-context"])
        for section in ("clusters", "users", "contexts"):
            known = {one["name"] for one in merged[section]}
            for one in value.get(section) or ():
                if not isinstance(one, dict) or "name" not in one:
                    raise LiveError(f"{file}: an entry of {section} has no name")
                if one["name"] not in known:
                    _locate(section, one, file.absolute().parent)
                    merged[section].append(one)
    return merged


def _locate(section: str, entry: dict[str, Any], folder: Path) -> None:
    inner, keys = _PATHS.get(section, ("", ()))
    held = entry.get(inner)
    if isinstance(held, dict):
        for key in keys:
            if held.get(key):
                held[key] = str(folder / held[key])


def _list(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"


def _error(code: int, body: bytes) -> ApiError:
    """An answer of the API server that is a Status, or of something before it that is not."""
    import msgspec

    try:
        status = msgspec.json.decode(body)
        message, reason = str(status["message"]), str(status.get("reason") or "")
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        message, reason = " ".join(body.decode("utf-8", "replace").split())[:200], ""
    if code == 401:
        message = f"not signed in ({message}): the certificate or token is wrong or too old"
    return ApiError(code, message or f"HTTP {code}", reason)


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
        yield from (line for line in whole if line)
    if rest.strip():
        yield rest
