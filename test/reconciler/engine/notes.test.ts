// Notes of sets in both places, by one suite; the selection of the place, and the limits of notes in a project.
import { describe, expect, test } from 'vitest';
import { defaultManage } from '../../../reconciler/core/documents/document.ts';
import { joinedNotes, joinedStates } from '../../../reconciler/core/ownership/project-notes.ts';
import { policyOf } from '../../../reconciler/core/ownership/recorded-policy.ts';
import { emptySetState, lockKey, renderSetState, stateKey } from '../../../reconciler/core/ownership/set-state.ts';
import { changeNotes, type Notes } from '../../../reconciler/engine/notes/notes.ts';
import { ProjectNotes } from '../../../reconciler/engine/notes/project-notes.ts';
import { ServerNotes } from '../../../reconciler/engine/notes/server-notes.ts';
import { SetNotes } from '../../../reconciler/engine/notes/set-notes.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { FakeWorld } from '../../support/fakes/client.ts';

const signal = new AbortController().signal;
const pause = async (): Promise<void> => {};
const forbidden = new ClientError('forbidden', 'not permitted', { status: 403 });
const restrict = (world: FakeWorld): void => {
  world.beforePatch = () => {
    throw forbidden;
  };
};
const profileOf = (world: FakeWorld): unknown => world.objects.profile.get('gantry-notes')?.['config'];

const places: readonly [string, (world: FakeWorld) => Notes][] = [
  ['the config of the server', ({ client }) => new ServerNotes(client)],
  ['a profile of the project', ({ client }) => new ProjectNotes(client)],
];
describe.each(places)('notes in %s', (_place, open) => {
  test('keep written keys, drop emptied ones, and keep keys of others', async () => {
    const notes = open(new FakeWorld());
    await changeNotes({ notes, pause }, () => ({ [stateKey('a')]: '1', [stateKey('b')]: '2' }), signal);
    await changeNotes({ notes, pause }, () => ({ [stateKey('a')]: '' }), signal);
    expect((await notes.read(signal)).config).toEqual({ [stateKey('b')]: '2' });
  });

  test('let one of many clients at once take a lock', async () => {
    const world = new FakeWorld();
    const taken = await Promise.all(
      Array.from({ length: 6 }, async (_none, index) => {
        let isMine = false;
        await changeNotes(
          { notes: open(world), pause },
          (config) => {
            isMine = config[lockKey('a')] === undefined;
            return isMine ? { [lockKey('a')]: String(index) } : undefined;
          },
          signal,
        );
        return isMine;
      }),
    );
    expect(taken.filter(Boolean)).toHaveLength(1);
  });
});

describe('the profile with notes', () => {
  test('is deleted with the last note', async () => {
    const world = new FakeWorld();
    const notes = new ProjectNotes(world.client);
    await changeNotes({ notes, pause }, () => ({ [stateKey('a')]: '1' }), signal);
    expect(profileOf(world)).toEqual({ [stateKey('a')]: '1' });
    await changeNotes({ notes, pause }, () => ({ [stateKey('a')]: '' }), signal);
    expect(profileOf(world)).toBeUndefined();
  });

  test('a profile with notes that a killed writer half deleted is deleted and recreated', async () => {
    const world = new FakeWorld();
    world.objects.profile.set('gantry-notes', {
      name: 'gantry-notes',
      description: '',
      config: { 'user.gantry.leaving': 'true' },
      devices: {},
    });
    await changeNotes({ notes: new ProjectNotes(world.client), pause }, () => ({ [stateKey('a')]: '1' }), signal);
    expect(profileOf(world)).toEqual({ [stateKey('a')]: '1' });
  });

  test('is refused, with the remedy, in a project without profiles of its own', async () => {
    const world = new FakeWorld();
    world.objects.project.set('red', { name: 'red', config: { 'features.profiles': 'false' } });
    const notes = new ProjectNotes(world.client, 'red');
    const written = changeNotes({ notes, pause }, () => ({ [stateKey('a')]: '1' }), signal);
    await expect(written).rejects.toThrow(/the project red has no profiles of its own; ask an administrator/);
    expect(profileOf(world)).toBeUndefined();
  });
});

describe('the place of the notes of a set', () => {
  const write = (world: FakeWorld, text: string): Promise<void> =>
    changeNotes({ notes: new SetNotes(world.client, 'a'), pause }, () => ({ [stateKey('a')]: text }), signal);

  test('is the config of the server for a client that may write it', async () => {
    const world = new FakeWorld();
    await write(world, '1');
    expect([world.config, profileOf(world)]).toEqual([{ [stateKey('a')]: '1' }, undefined]);
  });

  test('is the project for a client that may not, and for an administrator who comes later', async () => {
    const world = new FakeWorld();
    restrict(world);
    await write(world, '1');
    world.beforePatch = undefined;
    await write(world, '2');
    expect([world.config, profileOf(world)]).toEqual([{}, { [stateKey('a')]: '2' }]);
  });
});

describe('notes of clients of a project', () => {
  const profile = {
    ...renderSetState(
      'web@red',
      {
        ...emptySetState('a2V5'),
        inventory: new Map(
          (['image/abc', 'image/abc@blue', 'certificate/abc'] as const).map((address) => [
            address,
            { keys: {}, whole: true, policy: policyOf({ ...defaultManage, prune: true }) },
          ]),
        ),
      },
      {},
    ),
    ...renderSetState('web', emptySetState('a2V5'), {}),
    'core.https_address': ':1',
  };

  test('only cover sets of their project that the server config lacks', () => {
    expect(Object.keys(joinedNotes({}, profile, 'red'))).toEqual([stateKey('web@red')]);
    expect(joinedNotes({ [stateKey('web@red')]: 'x' }, profile, 'red')).toEqual({ [stateKey('web@red')]: 'x' });
    expect(Object.keys(joinedNotes({}, profile, undefined))).toEqual([stateKey('web')]);
  });

  test('give their sets no objects outside the project', () => {
    const own = joinedStates({}, profile, 'red', () => true).get('web@red')?.inventory ?? new Map<string, unknown>();
    expect([...own.keys()]).toEqual(['image/abc']);
    const shared = joinedStates({}, profile, 'red', () => false).get('web@red')?.inventory;
    expect(shared?.size).toBe(0);
  });
});
