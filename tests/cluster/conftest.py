"""A cluster of four worker processes; persisting data on some of them makes smaller ones."""

import pytest


@pytest.fixture(scope="package")
def client():
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    # Imports once, and not in every worker; and compile nothing.
    settings = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.nanny.environ.EDGEWISE_BACKEND": "numpy",
    }
    with dask.config.set(settings):
        context = distributed.utils.get_mp_context()
        context.set_forkserver_preload(["distributed", "edgewise.dask", "pandas"])
        with (
            distributed.LocalCluster(
                n_workers=4,
                threads_per_worker=1,
                dashboard_address=None,
                worker_dashboard_address=None,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
