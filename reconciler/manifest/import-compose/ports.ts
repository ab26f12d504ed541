// Published ports of a service as proxy devices. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap } from '../../core/documents/json-values.ts';
import type { ComposeFile } from './file.ts';

export function portsOf(file: ComposeFile, service: string, values: JsonObject): JsonObject {
  const list = Array.isArray(values['ports']) ? (values['ports'] as readonly Json[]) : [];
  const devices: Record<string, Json> = {};
  for (const port of list) {
    const text = isMap(port) ? longPort(port) : asText(port);
    const found = proxyOf(text);
    if (typeof found !== 'string' && !file.listened.has(found.listen)) {
      file.listened.add(found.listen);
      devices[`port-${found.listen.replaceAll(/[^a-z0-9]+/gi, '-')}`] = { type: 'proxy', ...found };
    } else
      file.note(
        ['services', service, 'ports'],
        `services.${service}: the port ${text} does not move: ${typeof found === 'string' ? found : 'it is published already'}: add a proxy device`,
      );
  }
  return devices;
}

const short = /^(?:(\[[0-9a-f:]+\]|[\d.]+):)?(\d+(?:-\d+)?):(\d+(?:-\d+)?)(?:\/(\w+))?$/i;

/** Why not, as a text. */
function proxyOf(text: string): { readonly listen: string; readonly connect: string } | string {
  const found = short.exec(text);
  if (found === null) return text.includes('$') ? 'its variable has no default' : 'it names no port of the host';
  const [, address = '0.0.0.0', host = '', inside = '', protocol = 'tcp'] = found;
  if (protocol !== 'tcp' && protocol !== 'udp') return `a proxy device forwards no ${protocol}`;
  if (![...host.split('-'), ...inside.split('-')].every((port) => Number(port) >= 1 && Number(port) <= 65_535))
    return 'ports are from 1 to 65535';
  if (count(host) !== count(inside)) return 'the two ranges differ in length';
  return { listen: `${protocol}:${address}:${host}`, connect: `${protocol}:127.0.0.1:${inside}` };
}

function count(range: string): number {
  const [first = '', last = first] = range.split('-');
  return Number(last) - Number(first) + 1;
}

function longPort(port: JsonObject): string {
  const address = asText(port['host_ip']);
  const shown = address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
  const published = asText(port['published']);
  const protocol = asText(port['protocol']);
  return `${shown === '' ? '' : `${shown}:`}${published === '' ? '' : `${published}:`}${asText(port['target'])}${protocol === '' ? '' : `/${protocol}`}`;
}
