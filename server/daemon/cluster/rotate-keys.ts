// gantryd cluster rotate-ca: asks the running daemon of this host to give the cluster new keys, and waits for the end.
import { request } from 'node:http';
import { join } from 'node:path';
import { statusCodes } from '../../api/status.ts';

interface Answer {
  readonly metadata?: {
    readonly id?: string;
    readonly status_code?: number;
    readonly err?: string;
    readonly message?: string;
  };
}

/** Throws an Error that says why when the keys are as before, or not all members have them. */
export async function rotateKeys({ stateDir }: { readonly stateDir: string }): Promise<string> {
  const socketPath = join(stateDir, 'unix.socket');
  const { metadata: begun = {} } = await ask(socketPath, 'POST', '/internal/cluster/keys');
  if (begun.id === undefined) throw new Error(begun.message ?? 'the daemon did not say what it does');
  const { metadata: ended = {} } = await ask(socketPath, 'GET', `/1.0/operations/${begun.id}/wait`);
  if (ended.status_code !== statusCodes.success) throw new Error(ended.err ?? ended.message ?? 'it did not end');
  return 'All members that are online use new keys. Those that are offline take them when they are back';
}

function ask(socketPath: string, method: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void =>
      reject(new Error(`no daemon answers on ${socketPath}: start gantryd on this host first`, { cause }));
    const asked = request({ socketPath, method, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', refuse).on('end', () => {
        try {
          resolve(JSON.parse(text) as Answer);
        } catch (error) {
          refuse(error);
        }
      });
    });
    asked.on('error', refuse).end();
  });
}
