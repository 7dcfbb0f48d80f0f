"""What a package imports for a cloud or a model, and its readers of local files never call: install() lets such imports succeed where the module is not there."""
import importlib.abc
import importlib.util
import sys
import types


class Absent(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {})


class AbsentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    ROOTS = ("transformers", "boto3", "botocore", "azure", "oci", "paramiko", "databricks", "alipcs_py", "huggingface_hub", "diskcache", "zstd", "matplotlib", "tqdm", "pyarrow", "fsspec", "requests")

    def find_spec(self, name, path, target=None):
        google = name.startswith(("google.cloud", "google.auth", "google.api_core", "google.oauth2", "google.resumable_media"))
        return importlib.util.spec_from_loader(name, self) if google or name.split(".")[0] in self.ROOTS else None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


def install():
    sys.meta_path.append(AbsentModules())
