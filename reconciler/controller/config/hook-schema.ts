// The hooks of a set in gantry.yaml: commands in containers around a sync.
import { Type, type Static } from 'typebox';
import { farthestWave } from '../../manifest/documents/read-manage.ts';

const closed = { additionalProperties: false } as const;

const HookSchema = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z0-9](?:[-a-z0-9_]{0,38}[a-z0-9])?$',
      description: 'Name of the hook. (letters, digits, - and _)',
    }),
    container: Type.String({ minLength: 1, description: 'The container in which it runs.' }),
    command: Type.Array(Type.String(), { minItems: 1, description: 'Program and arguments; no shell reads them.' }),
    hosts: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Only on these hosts of the set. Default: around a sync the first one, around a host each.',
      }),
    ),
    timeout: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'After this it is killed and has failed; default 5m.',
      }),
    ),
    optional: Type.Optional(
      Type.Boolean({ description: 'It is left out where the container is not there or does not run.' }),
    ),
  },
  closed,
);

const WaveHookSchema = Type.Object(
  {
    ...HookSchema.properties,
    wave: Type.Integer({
      minimum: -farthestWave,
      maximum: farthestWave,
      description: 'The wave, as `manage.wave` numbers it.',
    }),
  },
  closed,
);

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

const phase = (description: string) => Type.Optional(Type.Array(HookSchema, { description }));
const wavePhase = (description: string) => Type.Optional(Type.Array(WaveHookSchema, { description }));

export const HooksSchema = Type.Object(
  {
    beforeSync: phase('Once, before the first host gets a revision; if one fails, none gets it.'),
    beforeHost: phase('On each host, before it gets a revision.'),
    beforeWave: wavePhase(
      'On each host, before the first change of a wave, when the waves before it are done and ready.',
    ),
    afterWave: wavePhase('On each host, when a wave is done and ready, before the next one.'),
    afterHost: phase('On each host, when it has a revision in full.'),
    afterSync: phase('Once, when all hosts have a revision.'),
    onFailure: phase('Once, when the rollout of a revision stops because hosts failed.'),
  },
  closed,
);

/** `wave`: in the phases around a wave. */
export type WrittenHook = Static<typeof HookSchema> & { readonly wave?: number };
