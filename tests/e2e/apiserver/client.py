"""What a user does with a cluster, through kubectl as it is; and objects in bulk, faster."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml


class Kubectl:
    """The real kubectl with one kubeconfig."""

    def __init__(self, program, kubeconfig, home):
        self.program, self.kubeconfig, self.home = program, kubeconfig, home

    def __call__(self, *args, manifest=None, check=True):
        text = manifest if isinstance(manifest, str) else yaml.safe_dump_all(_list(manifest))
        done = subprocess.run(
            [self.program, "--kubeconfig", self.kubeconfig, *args],
            input=text if manifest is not None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"},
        )
        assert not check or done.returncode == 0, f"kubectl {args}: {done.stderr}{done.stdout}"
        return done

    def apply(self, *objects, check=True, args=()):
        """``kubectl apply -f -``."""
        return self("apply", "-f", "-", *args, manifest=list(objects), check=check)

    def get(self, *args):
        return yaml.safe_load(self("get", *args, "-o", "json").stdout)


def _list(manifest):
    return manifest if isinstance(manifest, list) else [manifest]


def documents(folder, suffix=".yaml"):
    """Every object of a folder."""
    for file in sorted(Path(folder).rglob(f"*{suffix}")):
        for value in yaml.load_all(file.read_text(), yaml.CSafeLoader):
            if isinstance(value, dict):
                yield from value["items"] if value["kind"] == "List" else [value]


class Loader:
    """Creates objects through the API, namespaces first; tells which the server does not know."""

    def __init__(self, client):
        self.client = client
        self.places = {}

    def path(self, value):
        api_version = value["apiVersion"]
        if api_version not in self.places:
            base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            found = self.client.get(base)
            resources = found.json()["resources"] if found.status_code == 200 else ()
            self.places[api_version] = (
                base,
                {
                    one["kind"]: (one["name"], one["namespaced"])
                    for one in resources
                    if "/" not in one["name"]
                },
            )
        base, kinds = self.places[api_version]
        if value["kind"] not in kinds:
            return None
        plural, namespaced = kinds[value["kind"]]
        if namespaced:
            return f"{base}/namespaces/{value['metadata'].get('namespace', 'default')}/{plural}"
        return f"{base}/{plural}"

    def create(self, values):
        """(created as the server has them, those that it does not know or refuses)"""
        first = [value for value in values if value["kind"] == "Namespace"]
        rest = [value for value in values if value["kind"] != "Namespace"]
        made, left = [], []
        for batch in (first, rest):
            for value in batch:
                self.path(value)
            with ThreadPoolExecutor(8) as pool:
                for value, answer in zip(batch, pool.map(self._post, batch), strict=True):
                    (left if answer is None else made).append(value if answer is None else answer)
        return made, left

    def _post(self, value):
        path = self.path(value)
        if path is None:
            return None
        done = self.client.post(path, json=value)
        if done.status_code in {200, 201}:
            return done.json()
        assert done.status_code in {400, 409, 422}, done.text
        return None
