// Small reads by sixteen clients at once, over the local socket and over TLS with a client certificate, while there are many containers.
import { freePort } from '../support/hosts/free-port.ts';
import { createMany, readAll } from './containers.ts';
import { takingTurns, timesOf, type BenchContext, type Group } from './group.ts';
import type { Row } from './report.ts';
import { names, removeContainers, type Server } from './servers.ts';
import { clients, inParallel, Wire } from './wire.ts';
import { makePair } from '../support/daemons/tls.ts';

const turns = { count: 9, block: 3 };
/** Enough that one turn lasts longer than a pause for garbage. */
const perTurn = 2000;

export const requestsGroup: Group = async (context) => {
  const { containers, servers, say, signal } = context;
  const closers: (() => Promise<unknown>)[] = [];
  try {
    say(`requests: ${containers} containers`);
    for (const server of servers) await createMany(server, containers, signal, []);
    const overTls: Server[] = [];
    for (const server of servers) overTls.push(await withTls(server, closers));
    const one = `/1.0/containers/${names.container(0)}`;
    return [
      await measured(context, 'GET /1.0', servers, '/1.0', 1.3),
      await measured(context, 'GET /1.0 over TLS', overTls, '/1.0', 1.3),
      await measured(context, 'GET one container', servers, one, 10),
    ];
  } finally {
    for (const close of closers.toReversed()) await close().catch((error: unknown) => say(String(error)));
    for (const server of servers) await removeContainers(server.wire, new AbortController().signal);
  }
};

async function measured(
  { signal, containers }: BenchContext,
  what: string,
  servers: readonly Server[],
  path: string,
  timesLxd: number,
): Promise<Row> {
  const readMany = (server: Server) => inParallel(Array.from({ length: perTurn }), () => readAll(server, path), signal);
  // Not measured: client code, and a server that compiles at run time, are slower the first times.
  for (const server of servers) await timesOf(1, () => readMany(server), signal);
  const times = await takingTurns(servers, turns, readMany, signal);
  const rates = Object.entries(times).map(([name, each]) => [name, each.map((ms) => (perTurn * 1000) / ms)] as const);
  return {
    group: 'requests',
    what: `${what}, ${containers} containers, ${clients} clients`,
    unit: '/s',
    samples: Object.fromEntries(rates),
    timesLxd,
  };
}

/** The server by its TLS listener, which it may have for this long. */
async function withTls(server: Server, closers: (() => Promise<unknown>)[]): Promise<Server> {
  const { certPem, keyPem } = await makePair('gantry-bench');
  const port = await freePort();
  const before = (await server.wire.get('/1.0')) as { readonly config: Readonly<Record<string, string>> };
  const setAddress = (address: string) =>
    server.wire.change('PATCH', '/1.0', { config: { 'core.https_address': address } });
  closers.push(() => setAddress(before.config['core.https_address'] ?? ''));
  await setAddress(`127.0.0.1:${port}`);
  const certificate = certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  await server.wire.change('POST', '/1.0/certificates', { type: 'client', name: 'gantry-bench', certificate });
  closers.push(() => removeCertificates(server.wire));
  const wire = new Wire({ url: `https://127.0.0.1:${port}`, certPem, keyPem });
  closers.push(() => wire.close());
  return { ...server, wire };
}

async function removeCertificates(wire: Wire): Promise<void> {
  const known = (await wire.get('/1.0/certificates?recursion=1')) as readonly { name: string; fingerprint: string }[];
  for (const { name, fingerprint } of known)
    if (name === 'gantry-bench') await wire.change('DELETE', `/1.0/certificates/${fingerprint}`);
}
