// Runs this process as a go-plugin: handshake, mutual TLS, the services of every plugin, and its end. The caller passes the methods of
// the provider.
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { makeSelfSigned } from '../../server/lib/self-signed.ts';
import type * as Grpc from './grpc.ts';
import type { Method, Methods } from './grpc.ts';
import type { Log } from './log.ts';
import { HealthReply, Nothing, serving } from './plugin-messages.ts';
import { makeSocketPlace, type SocketPlace } from './socket.ts';

export const cookie = {
  name: 'TF_PLUGIN_MAGIC_COOKIE',
  value: 'd602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2',
} as const;

const protocolVersion = 6;
const watchMs = 1000;

export interface PluginDeps {
  readonly methods: Methods;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Writes the handshake, which is the only line on standard output. */
  readonly print: (line: string) => void;
  /** Closes the open connections of the provider. */
  readonly close: () => Promise<void>;
  readonly exit: (code: number) => void;
  /** Calls the listener when a standard stream has lost its reader, Terraform; at once when that has already happened. */
  readonly onReaderGone?: (listener: () => void) => void;
  readonly parentPid: () => number;
  readonly now: () => Date;
}

export interface RunningPlugin {
  readonly socketPath: string;
  stop(): void;
}

export class HandshakeError extends Error {
  override readonly name = 'HandshakeError';
}

/** Throws HandshakeError when the caller is not Terraform, or supports no common protocol version. */
export async function startPlugin(deps: PluginDeps): Promise<RunningPlugin> {
  checkCaller(deps.env);
  const place = makeSocketPlace();
  let isEnding = false;
  const end = (): void => {
    if (isEnding) return;
    isEnding = true;
    try {
      place.remove();
    } finally {
      void deps.close().finally(() => deps.exit(0));
    }
  };
  const methods = new Map<string, Method>([...deps.methods, ...pluginMethods(end)]);
  let loading: Promise<typeof Grpc> | undefined;
  const loadGrpc = (): Promise<typeof Grpc> => (loading ??= import('./grpc.ts'));
  const serve = async (socket: Duplex): Promise<void> =>
    (await loadGrpc()).serveConnection(socket, {
      methods,
      onError: (method, error) => deps.log('error', `${method} failed: ${String(error)}`),
      onBroken: (why) => deps.log('debug', `a connection ended: ${why}`),
    });
  const { server, certificate } = await makeServer(deps, (socket) => void serve(socket));
  const connections = countConnections(server);
  await listen(server, place);
  watchTerraform(deps, connections, end);
  deps.onReaderGone?.(end);
  deps.print(`1|${protocolVersion}|unix|${place.path}|grpc|${certificate}\n`);
  // HTTP/2 takes milliseconds to load, while Terraform reads the handshake and connects.
  void loadGrpc();
  return { socketPath: place.path, stop: end };
}

function checkCaller(env: PluginDeps['env']): void {
  if (env[cookie.name] !== cookie.value) {
    throw new HandshakeError(
      'This is a plugin: Terraform and OpenTofu start it. To install it where they look for providers, run it with the argument install.',
    );
  }
  const offered = (env['PLUGIN_PROTOCOL_VERSIONS'] ?? String(protocolVersion)).split(',').map((part) => part.trim());
  if (!offered.includes(String(protocolVersion))) {
    throw new HandshakeError(
      `This plugin speaks protocol ${protocolVersion}, Terraform offers ${offered.join(', ')}: use Terraform 1.0 or newer.`,
    );
  }
}

/** Answers Shutdown before the process ends: without the answer, or without the end, Terraform waits two seconds. */
function pluginMethods(end: () => void): readonly (readonly [string, Method])[] {
  const nothing = Nothing.encode({});
  return [
    ['/plugin.GRPCController/Shutdown', { kind: 'unary', call: () => nothing, answered: end }],
    ['/plugin.GRPCStdio/StreamStdio', { kind: 'silent' }],
    ['/plugin.GRPCBroker/StartStream', { kind: 'silent' }],
    ['/grpc.health.v1.Health/Check', { kind: 'unary', call: () => HealthReply.encode({ status: serving }) }],
  ];
}

interface MadeServer {
  readonly server: Server;
  /** For the handshake: base64 without padding; empty without TLS. */
  readonly certificate: string;
}

const hourMs = 60 * 60_000;

/** Only the holder of the certificate that Terraform made for this start may connect. */
async function makeServer({ env, now, log }: PluginDeps, serve: (socket: Duplex) => void): Promise<MadeServer> {
  const clientCertificate = env['PLUGIN_CLIENT_CERT'];
  if (clientCertificate === undefined || clientCertificate === '') {
    return { server: createServer(serve), certificate: '' };
  }
  const nowMs = now().getTime();
  const { certPem, keyPem } = await makeSelfSigned({
    commonName: 'localhost',
    organization: 'Gantry',
    subjectAltNames: ['localhost'],
    notBefore: new Date(nowMs - hourMs),
    notAfter: new Date(nowMs + 30 * 24 * hourMs),
    usage: 'server',
    curve: 'P-256',
  });
  const server = createTlsServer(
    {
      cert: certPem,
      key: keyPem,
      ca: clientCertificate,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['h2'],
    },
    serve,
  );
  server.on('tlsClientError', (error) => log('debug', `a connection was refused: ${error.message}`));
  return { server, certificate: certPem.replaceAll(/-----[A-Z ]+-----|\s|=/g, '') };
}

function listen(server: Server, place: SocketPlace): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(place.path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function countConnections(server: Server): () => number {
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => (open -= 1));
  });
  return () => open;
}

/**
 * A killed Terraform sends no Shutdown. The plugin detects its end by a changed parent process or, if a wrapper started the plugin, by
 * a log stream without a reader, to which it writes a line for each period without a connection. Standard input, which Terraform
 * shares, and closed connections prove nothing: gRPC closes idle connections, and with TF_REATTACH_PROVIDERS each command opens one.
 */
function watchTerraform(deps: PluginDeps, connections: () => number, end: () => void): void {
  const parent = deps.parentPid();
  let isProbed = false;
  setInterval(() => {
    if (deps.parentPid() !== parent) {
      deps.log('warn', 'Terraform has ended without a Shutdown: this plugin ends, too');
      end();
    } else if (connections() > 0) isProbed = false;
    else if (!isProbed) {
      isProbed = true;
      deps.log('debug', 'no connection from Terraform is open');
    }
  }, watchMs).unref();
}
