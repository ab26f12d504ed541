// Limits the time of work that never waits. Expressions are hostile input: loops in loops, and regular expressions, whose engine tries
// again and again, would hold the thread for ever. A timer cannot fire meanwhile; the watchdog of `vm` interrupts both.
import { createContext, Script } from 'node:vm';

/** The watchdog guards a script, and a script needs a realm: it calls the work, which stays in its own. */
let realm: { work?: () => unknown } | undefined;
const call = new Script('work()');

/** Its result; undefined: it took longer, and was ended wherever it was. */
export function withinTime<T>(limitMs: number, work: () => T): T | undefined {
  realm ??= createContext({}) as { work?: () => unknown };
  realm.work = work;
  try {
    return call.runInContext(realm, { timeout: limitMs }) as T;
  } catch (error) {
    // An error of the other realm is no Error here.
    if ((error as { readonly code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    delete realm.work;
  }
}
