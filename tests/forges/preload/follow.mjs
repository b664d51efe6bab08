// A pull request's head follows its branch, as on GitHub: the emulator leaves it where it was when the pull request was
// opened. What is changed is the one place where its tables are made, in the pinned version's text.
const BEFORE = "function getGitHubStore(store) {\n  return {";
const AFTER = `function getGitHubStore(store) {
  const tables = untouched(store);
  const { branches, pullRequests } = tables;
  if (!branches.followed) {
    branches.followed = true;
    const update = branches.update.bind(branches);
    branches.update = (id, change) => {
      const branch = update(id, change);
      for (const pull of pullRequests.all()) {
        if (pull.state === "open" && pull.head_repo_id === branch.repo_id && pull.head_ref === branch.name) {
          pullRequests.update(pull.id, { head_sha: branch.sha });
        }
      }
      return branch;
    };
  }
  return tables;
}
function untouched(store) {
  return {`;

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (!/\/emulate\/dist\/dist-[^/]+\.js$/.test(url)) return loaded;
  return { ...loaded, source: String(loaded.source).replace(BEFORE, () => AFTER) };
}
