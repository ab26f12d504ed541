// The hooks of a set in gantry.yaml: commands in containers around a sync.
import { Type, type Static } from 'typebox';
import { farthestWave } from '../../manifest/documents/read-manage.ts';
import { duration, name, object, optional, text } from '../contract/words.ts';

const HookSchema = object({
  name: name('Name of the hook.'),
  container: text('The container in which it runs.'),
  command: Type.Array(Type.String(), { minItems: 1, description: 'Program and arguments; no shell reads them.' }),
  hosts: optional(text('Only on these hosts of the set. Default: around a sync the first one, around a host each.')),
  timeout: optional(duration('After this it is killed and has failed; default 5m.')),
  optional: optional(Type.Boolean(), 'It is left out where the container is not there or does not run.'),
});

const WaveHookSchema = object({
  ...HookSchema.properties,
  wave: Type.Integer({
    minimum: -farthestWave,
    maximum: farthestWave,
    description: 'The wave, as `manage.wave` numbers it.',
  }),
});

export const hookPhases = [
  'beforeSync',
  'beforeHost',
  'beforeWave',
  'afterWave',
  'afterHost',
  'afterSync',
  'onFailure',
] as const;
export type HookPhase = (typeof hookPhases)[number];

const phase = (description: string) => optional(Type.Array(HookSchema), description);
const wavePhase = (description: string) => optional(Type.Array(WaveHookSchema), description);

export const HooksSchema = object({
  beforeSync: phase('Once, before the first host gets a revision; if one fails, none gets it.'),
  beforeHost: phase('On each host, before it gets a revision.'),
  beforeWave: wavePhase(
    'On each host, before the first change of a wave, when the waves before it are done and ready.',
  ),
  afterWave: wavePhase('On each host, when a wave is done and ready, before the next one.'),
  afterHost: phase('On each host, when it has a revision in full.'),
  afterSync: phase('Once, when all hosts have a revision.'),
  onFailure: phase('Once, when the rollout of a revision stops because hosts failed.'),
});

/** `wave`: in the phases around a wave. */
export type WrittenHook = Static<typeof HookSchema> & { readonly wave?: number };
