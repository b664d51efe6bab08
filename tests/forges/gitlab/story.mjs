// What test_gitlab_server.py does with python-gitlab, done with @gitbeaker/rest: the outcome is printed as JSON.
// Arguments: node_modules, the instance's address, the project, a token, the sha of merge request 1.
const [modules, host, project, token, sha] = process.argv.slice(2);
const { Gitlab } = await import(`file://${modules}/@gitbeaker/rest/dist/index.mjs`);

async function tried(call) {
  try {
    return await call;
  } catch (error) {
    return `${error.cause.response.status} ${error.cause.description}`;
  }
}

const api = new Gitlab({ host, token });
const user = await api.Users.showCurrentUser(); // is limited once
const note = await api.MergeRequestNotes.create(project, 1, "first\r\n\n");
const all = await api.MergeRequestNotes.all(project, 1, { perPage: 20 });
const edited = await api.MergeRequestNotes.edit(project, 1, note.id, { body: "second" });
const states = [];
for (const state of ["pending", "running", "running", "failed", "success"]) {
  const posted = await tried(api.Commits.editStatus(project, sha, state, { context: "rankgate", description: state }));
  states.push(posted.status ?? posted);
}
const statuses = await api.Commits.allStatuses(project, sha);
const every = await api.Commits.allStatuses(project, sha, { all: true });
await api.MergeRequestNotes.remove(project, 1, note.id);
console.log(
  JSON.stringify({
    user: user.username,
    created: note.body,
    listed: new Set(all.map((each) => each.id)).size,
    edited: edited.body,
    states,
    statuses: statuses.map((each) => [each.name, each.status, each.description]),
    every: every.length,
    gone: await tried(api.MergeRequestNotes.show(project, 1, note.id)),
    missing: await tried(api.MergeRequests.show(project, 404)),
    wrong: await tried(new Gitlab({ host, token: "glpat-guessed" }).Users.showCurrentUser()),
  }),
);
