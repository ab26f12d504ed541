// Where an image is fetched from: its name in messages and gantry.lock, and the rules that a schema cannot say. Pure.
import type { Problem } from '../../../server/api/problem.ts';
import type { JsonObject } from '../documents/document.ts';
import { mapOf, textOf } from '../documents/json-values.ts';

/** The origin of an image, as gantry.lock and messages name it: `simplestreams:https://images.example#debian/12`. */
export function sourceName(source: JsonObject): string {
  if (source['type'] === 'url') return `url:${textOf(source['url']) ?? ''}`;
  const what = textOf(source['alias']) ?? textOf(source['fingerprint']) ?? '';
  return `${protocolOf(source)}:${serverOf(source)}#${what}`;
}

const protocolOf = (source: JsonObject): string => {
  const protocol = textOf(source['protocol']) ?? '';
  return protocol === '' || protocol === 'svc' ? 'lxd' : protocol;
};
const serverOf = (source: JsonObject): string => (textOf(source['server']) ?? '').replace(/\/+$/, '');

/** Rules of `source` that a schema cannot express. */
export function sourceProblems(values: JsonObject): readonly Problem[] {
  const source = mapOf(values['source']);
  const has = (key: string): boolean => (textOf(source[key]) ?? '') !== '';
  const problem = (key: string, message: string): Problem[] => [{ path: `source.${key}`, message }];
  if (source['type'] === 'url') {
    const url = textOf(source['url']) ?? '';
    if (!/^https?:\/\/[^\s/]+/.test(url)) return problem('url', 'must be the http or https address of the image');
    return ['server', 'protocol', 'alias'].flatMap((key) =>
      has(key) ? problem(key, 'has no meaning together with url') : [],
    );
  }
  if (source['type'] !== 'image') return problem('type', 'must be image (of another server) or url');
  const protocol = textOf(source['protocol']) ?? '';
  const server = textOf(source['server']) ?? '';
  return [
    ...(['', 'lxd', 'svc', 'simplestreams'].includes(protocol)
      ? []
      : problem('protocol', 'must be simplestreams or lxd')),
    ...(/^(https?:\/\/[^\s/]+|unix:\/\/\/.+)/.test(server)
      ? []
      : problem('server', 'must be the https address of the server that has the image, or unix:///PATH of its socket')),
    ...(server.startsWith('unix:') && protocol === 'simplestreams'
      ? problem('protocol', 'has no sockets: simplestreams servers have an https address')
      : []),
    ...(has('alias') || has('fingerprint')
      ? []
      : problem('alias', 'is missing, and so is source.fingerprint: which image of the server is meant?')),
    ...(!has('fingerprint') || /^[0-9a-f]{12,64}$/.test(textOf(source['fingerprint']) ?? '')
      ? []
      : problem('fingerprint', 'must be 12 to 64 lower case hexadecimal digits')),
    ...(textOf(source['mode']) === undefined || source['mode'] === 'pull' ? [] : problem('mode', 'must be pull')),
  ];
}
