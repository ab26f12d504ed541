// One service as a container, with a note for each part that is not converted. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf, textsOf } from '../../core/documents/json-values.ts';
import type { ComposeFile } from './file.ts';
import { sourceOf } from './images.ts';
import { limitsOf } from './limits.ts';
import { mountsOf } from './mounts.ts';
import { nicsOf } from './networks.ts';
import { portsOf } from './ports.ts';
import { carried, deployRemedies, remedies } from './remedies.ts';

export const containerName = (file: ComposeFile, service: string): string =>
  file.containers.of(asText(mapOf(file.section('services')[service])['container_name']) || service);

/** `values`: of the service, with those of the one that it extends. */
export function containerOf(file: ComposeFile, service: string, values: JsonObject): JsonObject {
  const path = ['services', service];
  for (const [key, value] of Object.entries(values))
    if (!carried.has(key) && !key.startsWith('x-') && value !== null && !isWithoutEffect(key, value))
      file.lost([...path, key], remedies[key]);
  noteParts(file, service, values);
  const devices = {
    ...portsOf(file, service, values),
    ...mountsOf(file, service, values),
    ...nicsOf(file, service, values),
  };
  const config = {
    ...environmentOf(file, service, values['environment']),
    ...limitsOf(file, service, values),
    ...(values['privileged'] === true ? { 'security.privileged': true } : {}),
    ...(['always', 'unless-stopped'].includes(asText(values['restart'])) ? { 'boot.autostart': true } : {}),
  };
  const addresses = needsOf(file, service, values);
  return {
    kind: 'container',
    name: containerName(file, service),
    source: sourceOf(file, service, asText(values['image'])),
    ...(file.profiles.length === 0 ? {} : { profiles: file.profiles }),
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(Object.keys(devices).length === 0 ? {} : { devices }),
    ...(addresses.length === 0 ? {} : { manage: { depends_on: addresses } }),
  };
}

/** Values that change nothing: one instance, and no health check. */
const isWithoutEffect = (key: string, value: Json): boolean =>
  (key === 'scale' && value === 1) ||
  (key === 'healthcheck' && mapOf(value)['disable'] === true) ||
  (key === 'read_only' && value === false);

function needsOf(file: ComposeFile, service: string, values: JsonObject): readonly string[] {
  const given = values['depends_on'];
  const needs = isMap(given) ? Object.keys(given) : textsOf(given);
  const services = file.section('services');
  for (const need of needs)
    if (!Object.hasOwn(services, need))
      file.note(
        ['services', service, 'depends_on'],
        `services.${service}.depends_on does not move for ${need}: the file has no such service`,
      );
  return needs.filter((need) => Object.hasOwn(services, need)).map((need) => `container/${containerName(file, need)}`);
}

/** Parts of keys of which only some are converted. */
function noteParts(file: ComposeFile, service: string, values: JsonObject): void {
  const lost = (path: readonly string[], remedy?: string): void => file.lost(['services', service, ...path], remedy);
  const { resources, ...deploy } = mapOf(values['deploy']);
  for (const [key, value] of Object.entries(deploy))
    if (!(key === 'mode' && value === 'replicated') && !(key === 'replicas' && value === 1))
      lost(['deploy', key], deployRemedies[key]);
  if (mapOf(resources)['reservations'] !== undefined)
    lost(['deploy', 'resources', 'reservations'], 'a container has limits, and nothing is set aside for it');
  for (const [need, how] of Object.entries(mapOf(values['depends_on']))) {
    if (!['', 'service_started'].includes(asText(mapOf(how)['condition'])))
      lost(['depends_on', need, 'condition'], `say when ${need} is ready with manage.wait in its document`);
    if (mapOf(how)['restart'] === true) lost(['depends_on', need, 'restart']);
  }
  if (asText(values['restart']).startsWith('on-failure'))
    lost(['restart'], 'the init of the container restarts its services');
}

function environmentOf(file: ComposeFile, service: string, given: Json | undefined): JsonObject {
  const path = ['services', service, 'environment'];
  const pairs = isMap(given)
    ? Object.entries(given)
    : textsOf(given).map((line): [string, Json] => {
        const at = line.indexOf('=');
        return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 1)];
      });
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => {
      if (/\$[A-Za-z_{]/.test(name)) {
        file.note(
          path,
          `services.${service}: ${name} does not move: its name has a variable without a default: write the name`,
        );
        return [];
      }
      if (/[\r\n]/.test(asText(value))) {
        file.note(
          path,
          `services.${service}: ${name} does not move: its value has several lines, which no variable of a container can have: write it as a file (files:)`,
        );
        return [];
      }
      if (value !== null) {
        if (/\$\{[A-Za-z_][A-Za-z0-9_]*:?\+/.test(asText(value)))
          file.note(path, `services.${service}: the value of ${name} has \${...:+...}, which stays as it is written`);
        return [[`environment.${name}`, asText(value)]];
      }
      file.note(
        path,
        `services.${service}: ${name} takes its value from the shell: write it as a variable (kind: vars)`,
      );
      return [];
    }),
  );
}
