// Makes one plan in a fresh process and prints its time and memory. Started by plan.ts with --expose-gc.
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { unchangedWorld } from '../../support/fakes/worlds.ts';

const { documents, observed } = unchangedWorld(Number(process.argv[2]));
globalThis.gc?.();
const heapBefore = process.memoryUsage().heapUsed;
const cpuBefore = process.cpuUsage();
const plan = planChanges({ documents, observed });
const { user, system } = process.cpuUsage(cpuBefore);
globalThis.gc?.();
// The memory that the plan keeps: `plan` is used below, so it is not collected before.
const grownMb = (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20;
if (plan.steps.length > 0 || plan.diagnostics.length > 0 || plan.changes.length !== documents.length) {
  throw new Error(
    `${documents.length} unchanged documents made ${plan.steps.length} steps in ${plan.changes.length} changes`,
  );
}
process.stdout.write(JSON.stringify({ cpuMs: (user + system) / 1000, grownMb }));
