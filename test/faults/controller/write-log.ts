// A socket in front of a host that records each confirmed change of a profile, and checks the records afterwards.
import { createServer, request as ask, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { joinSockets } from '../../support/daemons/join-sockets.ts';

/** One confirmed change: the profile and its new note; deletions have none. */
export interface Write {
  readonly method: string;
  readonly profile: string;
  readonly note: string | undefined;
  /** The team of the manifests, if they name it. */
  readonly team?: string | undefined;
}

export class WriteLog {
  readonly writes: Write[] = [];
  readonly #behind: string;
  readonly #server: Server;

  private constructor(behind: string) {
    this.#behind = behind;
    this.#server = createServer((request, response) => void this.#forward(request, response));
    this.#server.on('upgrade', (request, socket, head) => this.#join(request, socket, head));
  }

  /** `behind`: the socket of the host, which may be gone for a while. */
  static async listen(socketPath: string, behind: string): Promise<WriteLog> {
    const log = new WriteLog(behind);
    await new Promise<void>((resolve) => log.#server.listen(socketPath, resolve));
    return log;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const behind = ask({ socketPath: this.#behind, method, path: url, headers }, (answer) => {
      const { statusCode = 500 } = answer;
      if (statusCode < 300) this.#note(method, url, body);
      response.writeHead(statusCode, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    behind.on('error', () => response.destroy());
    behind.end(body);
  }

  #note(method: string, url: string, body: Buffer): void {
    const found = /^\/1\.0\/profiles(?:\/([^/?]+))?(?:\?|$)/.exec(url);
    if (found === null || method === 'GET') return;
    const written = body.length === 0 ? {} : (JSON.parse(body.toString('utf8')) as Written);
    const profile = found[1] ?? written.name ?? '';
    this.writes.push({ method, profile, note: written.config?.['user.note'], team: written.config?.['user.team'] });
  }

  #join(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const behind = connect(this.#behind);
    const lines = request.rawHeaders.flatMap((name, at, all) =>
      at % 2 === 0 ? [`${name}: ${all[at + 1] ?? ''}`] : [],
    );
    behind.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    behind.write(head);
    joinSockets(socket, behind);
  }
}

interface Written {
  readonly name?: string;
  readonly config?: Readonly<Record<string, string>>;
}

/** Finds repeated changes, steps back to an older note (notes are growing numbers), and changes of another team's objects. Pure. */
export function wrongWrites(host: string, writes: readonly Write[]): readonly string[] {
  const seen = new Set<string>();
  const newest = new Map<string, number>();
  const wrong: string[] = [];
  for (const { method, profile, note, team } of writes) {
    if (team !== undefined && !profile.startsWith(`${team}-`))
      wrong.push(`${host}: ${team} wrote the profile ${profile}`);
    if (note === undefined) {
      if (method !== 'DELETE') continue;
      if (seen.has(`${profile} deleted`)) wrong.push(`${host}: profile ${profile} was deleted twice`);
      seen.add(`${profile} deleted`);
      continue;
    }
    const what = `${profile} ${note}`;
    if (seen.has(what)) wrong.push(`${host}: profile ${profile} got the note ${note} twice`);
    seen.add(what);
    const before = newest.get(profile) ?? -1;
    if (Number(note) < before) wrong.push(`${host}: profile ${profile} went back from ${before} to ${note}`);
    newest.set(profile, Math.max(before, Number(note)));
  }
  return wrong;
}
