// Finds valid values that this server would refuse: missing pool drivers, lines of raw.lxc. Pure.
import { rawLxcProblems } from '../../../server/api/container/raw-lxc.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { mapOf, presentTexts, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';

export const refusedValues = (objects: readonly Document[], observed: Observed): readonly Diagnostic[] =>
  objects.flatMap((object) => [...missingDriver(object, observed), ...refusedLines(object, observed)]);

function missingDriver(object: Document, { pools, server }: Observed): readonly Diagnostic[] {
  const driver = textOf(object.values['driver']);
  if (object.kind !== 'storage_pool' || driver === undefined || pools.has(object.name)) return [];
  const { poolDrivers } = server;
  if (poolDrivers === undefined || poolDrivers.includes(driver)) return [];
  const message = `the server cannot make ${object.address}: it has no driver ${driver}, only ${poolDrivers.join(', ')}`;
  const remedy = `choose one of these drivers, or install the programs of ${driver} on its host and restart the server`;
  return [problem(object, 'driver', message, remedy)];
}

/** The rules of gantryd; LXD has its own. */
function refusedLines(object: Document, { containers, profiles, server }: Observed): readonly Diagnostic[] {
  if (server.isGantry !== true || (object.kind !== 'container' && object.kind !== 'profile')) return [];
  const live = (object.kind === 'container' ? containers : profiles).get(object.name)?.object.config;
  return rawLxcProblems(presentTexts(mapOf(object.values['config'])), live).map(({ path, message }) =>
    problem(object, path, `the server would refuse ${object.address}: ${message}`, 'change or remove that line'),
  );
}

const problem = (object: Document, path: string, message: string, remedy: string): Diagnostic => ({
  severity: 'error',
  code: 'refused-value',
  address: object.address,
  path,
  message,
  remedy,
  ...object.location,
});
