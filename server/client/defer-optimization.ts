// Tells V8 to compile for speed later than it would, for programs that are over before most of that has paid off.
import { setFlagsFromString } from 'node:v8';

/**
 * From now on a function must have run twelve times as long before it is compiled for speed: that took a quarter of the processor time of a
 * large apply or of a plan of Terraform's. The flag is one of the V8 of Node 20; others would complain of it, and are left as they are.
 */
export function compileLess(): void {
  if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=800000');
}
