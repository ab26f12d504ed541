// Makes V8 optimize later than by default, for programs that end before most of the optimization pays off.
import { setFlagsFromString } from 'node:v8';

/** Functions must run twelve times as long before V8 optimizes them: that took a quarter of the processor time of a large apply or of a
 *  Terraform plan. The flag belongs to the V8 of Node 20; other versions would warn about it, and keep their default. */
export function deferOptimization(): void {
  if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=800000');
}
