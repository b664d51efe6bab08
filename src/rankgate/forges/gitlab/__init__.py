"""GitLab: one note on a merge request and the status of its commit, by what the job's variables say."""
