// Reads the part of a request that names an image on another server, collecting every problem. Pure.
import { errors } from '../../api/errors.ts';
import { projectName } from '../../api/names.ts';
import { defaultProject } from '../../api/project/project-names.ts';
import type { Problem } from '../../api/problem.ts';
import { addressRule } from '../../drivers/remote/address.ts';
import { certificateRule } from '../../drivers/remote/certificate.ts';
import type { RemoteProtocol, RemoteServer, ImageRequest } from '../../drivers/remote/driver.ts';
import type { ImageSourceDocument } from '../../records/documents.ts';

/** The common part of requests to make an image and to create a container from one. */
export interface SentSource {
  readonly mode?: string | undefined;
  readonly server?: string | undefined;
  readonly protocol?: string | undefined;
  readonly certificate?: string | undefined;
  readonly secret?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly alias?: string | undefined;
  /** The project on the other server. */
  readonly project?: string | undefined;
}

export interface RemoteSource extends Pick<ImageRequest, 'alias' | 'fingerprint' | 'secret' | 'project'> {
  readonly server: RemoteServer;
  /** A caller restricted to projects chose the server. */
  readonly isConfined?: boolean;
}

/** `lxd` is LXD's name for the protocol that the spec calls `svc`. */
const protocols: Readonly<Record<string, RemoteProtocol>> = {
  '': 'svc',
  svc: 'svc',
  lxd: 'svc',
  simplestreams: 'simplestreams',
};

/** Throws badRequest with all problems; `kind` is the object to create. */
export function readRemoteSource(kind: string, sent: SentSource): RemoteSource {
  const [server, protocolName, certificate] = [sent.server ?? '', sent.protocol ?? '', sent.certificate ?? ''];
  const [alias, fingerprint] = aliasAndFingerprint(sent);
  const aliasField = (sent.alias ?? '') === '' ? 'fingerprint' : 'alias';
  const protocol = Object.hasOwn(protocols, protocolName) ? protocols[protocolName] : undefined;
  const project = sent.project === defaultProject ? '' : (sent.project ?? '');
  const problems: Problem[] = [];
  const say = (field: string, message: string | undefined): void => {
    if (message !== undefined) problems.push({ path: `source.${field}`, message });
  };
  if (!['', 'pull'].includes(sent.mode ?? '')) say('mode', `must be pull, is ${JSON.stringify(sent.mode)}`);
  if (protocol === undefined) say('protocol', `must be svc or simplestreams, is ${JSON.stringify(protocolName)}`);
  say(
    'server',
    server === ''
      ? 'is required: the address of the server that has the image'
      : addressRule(server, protocol ?? 'svc'),
  );
  if (project !== '' && protocol === 'simplestreams')
    say('project', 'needs protocol svc: other servers have no projects');
  if (project !== '') say('project', projectName(project));
  if (certificate !== '') say('certificate', certificateRule(certificate));
  if (alias === '' && fingerprint === '')
    say('alias', 'or fingerprint is required: which image of the server is meant');
  if (alias !== '' && (alias.length > 1024 || alias.split('/').some((part) => /^\.{0,2}$/.test(part)))) {
    say(aliasField, `is no name of an image: ${JSON.stringify(alias.slice(0, 80))}`);
  }
  if (protocol === undefined || problems.length > 0) throw errors.invalid(kind, problems);
  return { server: { server, protocol, certificate }, alias, fingerprint, secret: sent.secret ?? '', project };
}

/** Alias and fingerprint. A partial fingerprint may be an alias or a prefix: the server that has the image decides. */
function aliasAndFingerprint(sent: SentSource): readonly [alias: string, fingerprint: string] {
  const [alias, fingerprint] = [sent.alias ?? '', sent.fingerprint ?? ''];
  if (alias !== '' || /^[0-9a-f]{64}$/i.test(fingerprint)) return [alias, fingerprint.toLowerCase()];
  return [fingerprint, ''];
}

/** The image on another server for a new container; undefined: it is an image of this server, whatever the mode, as LXD takes it. */
export function remoteImageOf(
  source: SentSource & { readonly type: string; readonly properties?: unknown },
): RemoteSource | undefined {
  const { type, mode = '', server = '', properties } = source;
  if (type !== 'image') return undefined;
  if (mode !== '' && mode !== 'pull' && mode !== 'local') {
    throw errors.invalid('container', [
      { path: 'source.mode', message: `must be local or pull, is ${JSON.stringify(mode)}` },
    ]);
  }
  if (server === '') return undefined;
  if (properties !== undefined && Object.keys(properties ?? {}).length > 0) {
    throw errors.invalid('container', [
      {
        path: 'source.properties',
        message: 'name an image of this server only: give alias or fingerprint beside a server',
      },
    ]);
  }
  return readRemoteSource('container', { ...source, mode: 'pull' });
}

/** Where to look for newer versions; a fingerprint has none. */
export function lastingSource(
  { server, alias, project, isConfined = false }: RemoteSource,
  fingerprint: string,
): ImageSourceDocument | undefined {
  if (alias === '' || fingerprint.startsWith(alias.toLowerCase())) return undefined;
  return { ...server, alias, ...(project === '' ? {} : { project }), ...(isConfined ? { isConfined } : {}) };
}

export function remoteOfDocument(source: ImageSourceDocument): RemoteSource {
  const protocol = Object.hasOwn(protocols, source.protocol) ? protocols[source.protocol] : undefined;
  if (protocol === undefined)
    throw errors.badRequest(`The protocol ${source.protocol} of the image's source is not known`);
  const { server, certificate, alias, project = '', isConfined = false } = source;
  return { server: { server, protocol, certificate }, alias, fingerprint: '', secret: '', project, isConfined };
}
