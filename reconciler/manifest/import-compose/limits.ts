// Limits of a service as config keys of a container. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf } from '../../core/documents/json-values.ts';
import type { ComposeFile } from './file.ts';

export function limitsOf(file: ComposeFile, service: string, values: JsonObject): JsonObject {
  const limits = mapOf(mapOf(mapOf(values['deploy'])['resources'])['limits']);
  const config: Record<string, Json> = {};
  const set = (
    path: readonly string[],
    given: Json | undefined,
    keyed: (text: string) => JsonObject | undefined,
  ): void => {
    if (given === undefined || given === null) return;
    const found = keyed(asText(given));
    if (found === undefined)
      file.lost(['services', service, ...path], `${asText(given)} is not understood: write it under config`);
    else Object.assign(config, found);
  };
  const deployed = ['deploy', 'resources', 'limits'];
  set([...deployed, 'memory'], limits['memory'], memoryKey);
  set(['mem_limit'], values['mem_limit'], memoryKey);
  set([...deployed, 'cpus'], limits['cpus'], cpuKey);
  set(['cpus'], values['cpus'], cpuKey);
  set(['cpuset'], values['cpuset'], (text) =>
    /^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(text)
      ? { 'limits.cpu': /^\d+$/.test(text) ? `${text}-${text}` : text }
      : undefined,
  );
  for (const [path, given] of [
    [[...deployed, 'pids'], limits['pids']],
    [['pids_limit'], values['pids_limit']],
  ] as const)
    set(path, given, (text) =>
      /^(-1|0+)$/.test(text) ? {} : /^\d+$/.test(text) ? { 'limits.processes': Number(text) } : undefined,
    );
  for (const [name, given] of Object.entries(mapOf(values['ulimits'])))
    set(['ulimits', name], isMap(given) ? `${asText(given['soft'])}:${asText(given['hard'])}` : given, (text) =>
      kernelLimits.includes(name) && /^-?\d+(:-?\d+)?$/.test(text)
        ? { [`limits.kernel.${name}`]: text.replaceAll('-1', 'unlimited') }
        : undefined,
    );
  return config;
}

const kernelLimits =
  'as core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack'.split(' ');

const units: Readonly<Record<string, number>> = { '': 0, k: 1, m: 2, g: 3 };

/** `512m` and `1gb` of compose are powers of 1024; zero is no limit. */
function memoryKey(text: string): JsonObject | undefined {
  const found = /^(\d+(?:\.\d+)?)\s*([kmg]?)b?$/i.exec(text);
  if (found === null) return undefined;
  const [, number = '', unit = ''] = found;
  if (Number(number) === 0) return {};
  if (!number.includes('.')) return { 'limits.memory': unit === '' ? number : `${number}${unit.toUpperCase()}iB` };
  return { 'limits.memory': String(Math.round(Number(number) * 1024 ** (units[unit.toLowerCase()] ?? 0))) };
}

function cpuKey(text: string): JsonObject | undefined {
  const cpus = Number(text);
  if (text === '' || Number.isNaN(cpus) || cpus < 0) return undefined;
  if (cpus === 0) return {};
  return Number.isInteger(cpus)
    ? { 'limits.cpu': cpus }
    : { 'limits.cpu.allowance': `${Math.round(cpus * 100)}ms/100ms` };
}
