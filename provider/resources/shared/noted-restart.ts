// The time of the start that a change of a running container came after, as a config key of the container: it is written together with
// the change, so that it outlives a provider which dies before Terraform saves its private data. Pure.
import type { TextMap } from '../../framework/attribute.ts';

/** The config key. It concerns one container on one server: documents cannot declare it, and gantryd's copies and exports omit it. */
export const notedRestartKey = 'user.gantry.terraform.restart';

/** The config with exactly this time in the key; without the key when it is undefined. */
export function withNotedRestart(config: TextMap, startedAt: string | undefined): Record<string, string> {
  const { [notedRestartKey]: _before, ...others } = config;
  return startedAt === undefined ? others : { ...others, [notedRestartKey]: startedAt };
}
