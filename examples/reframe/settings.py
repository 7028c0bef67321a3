"""Two partitions of one machine for ReFrame: at once, and by Slurm. `squeue` asks Slurm without its accounting; where `sacct` works, "slurm"
is the better scheduler."""

site_configuration = {
    "systems": [
        {
            "name": "here",
            "descr": "the machine that ReFrame is started on, and its Slurm",
            "hostnames": [".*"],
            "partitions": [
                {"name": "local", "scheduler": "local", "launcher": "local", "environs": ["default"], "max_jobs": 1},
                {
                    "name": "slurm",
                    "scheduler": "squeue",
                    "launcher": "local",
                    "environs": ["default"],
                    "access": ["--exclusive"],
                    "max_jobs": 1,
                },
            ],
        }
    ],
    "environments": [{"name": "default"}],
}
