// The AppArmor profile of a container as text: what it denies, what raw.apparmor may add, and patterns that keep a list of paths.
import { array, assert, property, stringMatching } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allBut } from '../../../../server/drivers/runtime/apparmor/all-but.ts';
import { labelOf, renderProfile } from '../../../../server/drivers/runtime/apparmor/profile.ts';
import { expectGolden } from '../../../support/golden.ts';

const facts = { name: 'lxc-gantry-0a1b2c3d-web', privileged: false, nesting: false, raw: '' };

describe('the profile', () => {
  test.each([
    ['plain', facts],
    ['privileged', { ...facts, privileged: true }],
  ])('of a container is as its golden says: %s', (name, one) => {
    expectGolden(`apparmor/${name}.profile`, renderProfile(one));
  });

  test('security.nesting gives a privileged container the plain one', () => {
    expect(renderProfile({ ...facts, privileged: true, nesting: true })).toBe(renderProfile(facts));
  });

  test('raw.apparmor stands at the end, without empty lines', () => {
    const raw = renderProfile({ ...facts, raw: 'mount fstype=nfs,\n\n  deny /srv/{a,b}/** w,' });
    const rules = '\n  # raw.apparmor\n  mount fstype=nfs,\n  deny /srv/{a,b}/** w,\n';
    expect(raw).toBe(renderProfile(facts).replace(/\}\n$/, `${rules}}\n`));
  });

  test.each(['}\nprofile "free" {', 'deny /a w,}', '{', 'deny /{a w,'])('does not end early: %j', (raw) => {
    expect(() => renderProfile({ ...facts, raw })).toThrow('raw.apparmor has braces that do not match');
  });

  test('puts the container into a namespace of profiles that has its name', () => {
    expect(labelOf(facts.name)).toBe('lxc-gantry-0a1b2c3d-web//&:lxc-gantry-0a1b2c3d-web:');
  });
});

/** Patterns of AppArmor as regular expressions, for those forms that allBut uses. */
function matches(patterns: readonly string[], path: string): boolean {
  return patterns.some((pattern) => {
    const source = pattern.replaceAll('.', '[.]').replaceAll('{,/{,**}}', '(/.*)?').replaceAll(']*', '][^/]*');
    return new RegExp(`^${source}$`).test(path);
  });
}

describe('patterns for all but some paths', () => {
  const patterns = allBut('/sys', ['fs/cgroup', 'class/net', 'kernel/msg*']);

  test.each([
    '/sys/fs/cgroup',
    '/sys/fs/cgroup/a/b',
    '/sys/class/net/eth0/mtu',
    '/sys/kernel/msgmax',
    '/sys/fs',
    '/sys/kernel',
  ])('leave out what is kept and what leads to it: %s', (path) => expect(matches(patterns, path)).toBe(false));

  test.each([
    '/sys/f',
    '/sys/fs2',
    '/sys/fs/cgroups',
    '/sys/fs/bpf',
    '/sys/class/network',
    '/sys/power/state',
    '/sys/kernel/ms',
  ])('match everything else: %s', (path) => expect(matches(patterns, path)).toBe(true));

  test('agree with a plain comparison of names', () => {
    const name = stringMatching(/^[abc]{1,3}$/);
    const path = array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
    assert(
      property(array(path, { minLength: 1, maxLength: 4 }), path, (kept, tried) => {
        const isKept = kept.some((one) => one === tried || tried.startsWith(`${one}/`) || one.startsWith(`${tried}/`));
        expect(matches(allBut('/x', kept), `/x/${tried}`)).toBe(!isKept);
      }),
    );
  });
});
