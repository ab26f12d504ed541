// A git server as a separate process that can be killed: serves the repositories below a folder and prints its URL.
import { startGitServer } from '../../support/git/git-server.ts';

const [root = '', port = '0'] = process.argv.slice(2);
const { url } = await startGitServer(root, undefined, Number(port));
process.stdout.write(`${url}\n`);
