// Decisions about other servers before and after a request: addresses, proxies, lists of simplestreams; and work shared by concurrent
// callers.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressRule, below, redirectTarget } from '../../../server/drivers/remote/address.ts';
import { proxyFor } from '../../../server/lib/shared/net/proxy-for.ts';
import { progressText } from '../../../server/drivers/remote/save.ts';
import {
  findStreamImage,
  parseStreamIndex,
  parseStreamProducts,
  sortStreamImages,
} from '../../../server/drivers/remote/streams-index.ts';
import { SharedWork } from '../../../server/lib/shared-work.ts';
import { proxySettings } from '../../../server/services/shared/settings.ts';

describe('addresses', () => {
  test.each([
    ['https://x:8443', 'svc', true],
    ['http://x', 'svc', false],
    ['http://x/path', 'simplestreams', true],
    ['https://x/?q', 'simplestreams', false],
    ['https://x/?q', 'direct', true],
    ['https://a:b@x', 'direct', false],
    ['file:///etc/passwd', 'direct', false],
    ['https://x/#f', 'direct', false],
    ['x', 'direct', false],
    [`https://${'x'.repeat(3000)}`, 'svc', false],
  ] as const)('%s for %s: %s', (text, protocol, isFine) => {
    expect(addressRule(text, protocol) === undefined).toBe(isFine);
  });

  test('files of a server are below its own address', () => {
    expect(below('https://x/base/', '/a/b.json').href).toBe('https://x/base/a/b.json');
    for (const path of ['../a', 'a/../../b', '', 'https://evil/x', 'a?b', 'a\\b', 'a b', 'a/./b', 'FTP:x']) {
      expect(() => below('https://x/base', path), path).toThrow(/outside/);
    }
    expect(below('https://x', '//evil.example/a').host).toBe('x');
  });

  test('redirects never lead from https to http, and never to other schemes', () => {
    expect(redirectTarget(new URL('http://x/a'), 'b').href).toBe('http://x/b');
    expect(redirectTarget(new URL('http://x/a'), 'https://y/').href).toBe('https://y/');
    for (const to of ['http://y/', 'file:///x', 'https://a:b@y/', undefined, 'http://[', 'data:,x']) {
      expect(() => redirectTarget(new URL('https://x/a'), to), String(to)).toThrow(/redirects to/);
    }
  });
});

describe('proxies', () => {
  const settings = { http: 'http://p:1', https: 'http://p:2', ignoreHosts: '' };
  const by = (url: string, ignoreHosts = ''): string | undefined =>
    proxyFor(new URL(url), { ...settings, ignoreHosts });
  test('are by scheme, and never for this host', () => {
    expect([by('http://x'), by('https://x')]).toEqual(['http://p:1', 'http://p:2']);
    for (const host of ['localhost', '127.0.0.1', '127.3.4.5', '[::1]'])
      expect(by(`http://${host}:80`)).toBeUndefined();
    expect(proxyFor(new URL('https://x'), { ...settings, https: '' })).toBeUndefined();
  });

  test.each([
    ['*', true],
    ['x.example', true],
    ['X.Example', true],
    ['example', true],
    ['.example', true],
    ['*.example', true],
    ['xample', false],
    ['other, x.example', true],
    ['x.example:8443', true],
    ['x.example:443', false],
    ['10.0.0.0/8', false],
    ['', false],
  ])('https://x.example:8443 past %j: %s', (ignored, isPast) => {
    expect(by('https://x.example:8443', ignored) === undefined).toBe(isPast);
  });

  test.each([
    ['http://10.1.2.3', '10.0.0.0/8', true],
    ['http://11.1.2.3', '10.0.0.0/8', false],
    ['http://10.1.2.3', '10.0.0.0/99', false],
    ['http://[fd00::1]', 'fd00::/8', true],
    ['http://[fd00::1]', '[fd00::1]', true],
    ['http://10.1.2.3', '2.3', false],
  ])('%s past %j: %s', (url, ignored, isPast) => {
    expect(by(url, ignored) === undefined).toBe(isPast);
  });

  test('are those of the server config, else of the environment', () => {
    const records = (config: Record<string, string>) =>
      ({ server: { get: () => ({ document: { config } }) } }) as unknown as Parameters<typeof proxySettings>[0];
    const env = { HTTP_PROXY: 'http://e:1', https_proxy: 'http://e:2', NO_PROXY: 'x' };
    expect(proxySettings(records({}), env)).toEqual({ http: 'http://e:1', https: 'http://e:2', ignoreHosts: 'x' });
    const own = { 'core.proxy_http': 'http://c:1', 'core.proxy_ignore_hosts': 'y' };
    expect(proxySettings(records(own), env)).toEqual({ http: 'http://c:1', https: 'http://e:2', ignoreHosts: 'y' });
    expect(proxySettings(records({}), { HTTP_PROXY: 'nonsense' }).http).toBe('');
  });
});

describe('lists of simplestreams', () => {
  const sha = (letter: string): string => letter.repeat(64);
  const item = (ftype: string, more: object = {}) => ({ ftype, path: `${ftype}.file`, size: 5, ...more });
  const split = (letter: string, ftype = 'squashfs') => ({
    items: {
      a: item('lxd.tar.xz', {
        combined_sha256: sha('f'),
        [ftype === 'squashfs' ? 'combined_squashfs_sha256' : 'combined_rootxz_sha256']: sha(letter),
      }),
      b: item(ftype),
    },
  });
  const products = (given: object): ReturnType<typeof parseStreamProducts> => parseStreamProducts({ products: given });

  test('are found in the index by what they hold', () => {
    const index = {
      a: { datatype: 'image-downloads', path: 'a.json' },
      b: { datatype: 'other', path: 'b.json' },
      c: 7,
      d: { datatype: 'image-downloads' },
    };
    expect(parseStreamIndex({ index })).toEqual(['a.json']);
    for (const nonsense of [null, 7, [], {}, { index: [] }]) expect(parseStreamIndex(nonsense)).toEqual([]);
  });

  test('prefer squashfs, fall back to tar, know whole images and older sums, and leave out the rest', () => {
    const both = { items: { ...split('a').items, c: item('root.tar.xz') } };
    const old = { items: { a: item('lxd.tar.xz', { combined_sha256: sha('c') }), b: item('root.tar.xz') } };
    const whole = { items: { a: item('lxd_combined.tar.gz', { sha256: sha('d').toUpperCase() }) } };
    const found = products({
      one: {
        arch: 'amd64',
        versions: {
          '20240101': both,
          '20240102': split('b', 'root.tar.xz'),
          '20240103': old,
          '20240104': whole,
          '20240105': { items: { a: item('lxd.tar.xz', { combined_sha256: sha('e') }) } },
          '20240106': { items: { a: item('lxd.tar.xz', { combined_sha256: 'short' }), b: item('squashfs') } },
          '2024': split('a'),
          '20249999': split('a'),
          __proto__: split('a'),
        },
      },
      two: { arch: 'z80', versions: { '20240101': split('a') } },
      three: 7,
    });
    expect(found.map((image) => [image.serial, image.fingerprint[0], image.rootfs?.path ?? 'whole'])).toEqual([
      ['20240101', 'a', 'squashfs.file'],
      ['20240102', 'b', 'root.tar.xz.file'],
      ['20240103', 'c', 'root.tar.xz.file'],
      ['20240104', 'd', 'whole'],
    ]);
    for (const nonsense of [null, 7, [], { products: 'x' }]) expect(parseStreamProducts(nonsense)).toEqual([]);
  });

  test('are read without a throw, whatever they are', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, two) => {
        const products = {
          products: { a: { arch: 'amd64', aliases: one, versions: { '20240101': { items: { x: two, y: one } } } } },
        };
        for (const document of [one, two, { index: { a: one } }, { products: { a: two } }, products]) {
          parseStreamIndex(document);
          sortStreamImages(parseStreamProducts(document));
        }
      }),
    );
  });

  test('give the newest for the architecture that runs here best', () => {
    const images = sortStreamImages(
      products({
        a: { arch: 'i386', aliases: 'x', versions: { '20250101': split('1') } },
        b: { arch: 'amd64', aliases: 'x, y', versions: { '20240101': split('2'), '20240201': split('3') } },
        c: { arch: 'arm64', aliases: 'x', versions: { '20240101': split('4') } },
        d: { arch: 'i386', aliases: 'old', versions: { '20240101': split('5') } },
      }),
    );
    const find = (alias: string, host = 'x', architectures = ['x86_64', 'i686']): string | undefined => {
      const found = findStreamImage(images, { alias, fingerprint: '', architectures }, host);
      return typeof found === 'string' ? found : found?.fingerprint[0];
    };
    expect([find('x'), find('y'), find('old'), find('x/arm64'), find('x/aarch64'), find('x/i386'), find('z')]).toEqual([
      '3',
      '3',
      '5',
      '4',
      '4',
      '1',
      undefined,
    ]);
    expect([find('ubuntu/x'), find('ubuntu/x', 'cloud-images.ubuntu.com')]).toEqual([undefined, '3']);
    expect([find('333333'), find('33')]).toEqual(['3', undefined]);
    const twice = [...images, { ...images[0]!, fingerprint: `333333${sha('9').slice(6)}` }];
    expect(findStreamImage(twice, { alias: '', fingerprint: '333333', architectures: [] }, 'x')).toBe('ambiguous');
  });
});

test('progress shows the percentage and the speed', () => {
  expect(progressText(0, 1000, 0)).toBe('0% (0B/s)');
  expect(progressText(3_400_000, 27_200_000, 1000)).toBe('12% (3.40MB/s)');
  expect(progressText(5, 4, 1000)).toBe('100% (5B/s)');
  expect(progressText(1_200_000, undefined, 2000)).toBe('1.20MB (600.00kB/s)');
});

describe('shared work', () => {
  const never = new AbortController().signal;
  test('shared work runs once; all callers get its progress, also late ones', async () => {
    const work = new SharedWork<number>();
    const heard: string[][] = [[], [], []];
    let starts = 0;
    let finish = (): void => {};
    const start = (index: number): Promise<number> =>
      work.run(
        'k',
        async (report) => {
          starts += 1;
          report('half');
          await new Promise<void>((resolve) => (finish = resolve));
          report('whole');
          return 7;
        },
        (text) => heard[index]!.push(text),
        never,
      );
    const first = [start(0), start(1)];
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    const late = start(2);
    finish();
    expect(await Promise.all([...first, late])).toEqual([7, 7, 7]);
    expect([starts, heard]).toEqual([
      1,
      [
        ['half', 'whole'],
        ['half', 'whole'],
        ['half', 'whole'],
      ],
    ]);
  });

  test('a failure of shared work reaches all callers, and it can be retried', async () => {
    const work = new SharedWork<number>();
    const failing = (): Promise<number> =>
      work.run(
        'k',
        () => Promise.reject(new Error('no')),
        () => {},
        never,
      );
    expect((await Promise.allSettled([failing(), failing()])).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
    ]);
    expect(
      await work.run(
        'k',
        () => Promise.resolve(1),
        () => {},
        never,
      ),
    ).toBe(1);
  });

  test('shared work ends when the last caller leaves, which waits for the clean-up; a later caller starts it again', async () => {
    const work = new SharedWork<string>();
    const order: string[] = [];
    const stoppable = async (_report: unknown, signal: AbortSignal): Promise<string> => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      await new Promise((resolve) => setImmediate(resolve));
      order.push('cleaned up');
      throw signal.reason;
    };
    const [one, two] = [new AbortController(), new AbortController()];
    const first = work.run('k', stoppable, () => {}, one.signal).catch(() => order.push('first left'));
    const second = work.run('k', stoppable, () => {}, two.signal).catch(() => order.push('second left'));
    await Promise.resolve();
    one.abort(new Error('enough'));
    await first;
    two.abort(new Error('enough'));
    const third = work.run(
      'k',
      () => Promise.resolve('new'),
      () => {},
      never,
    );
    await second;
    expect([await third, order]).toEqual(['new', ['first left', 'cleaned up', 'second left']]);
    await expect(work.run('k', stoppable, () => {}, one.signal)).rejects.toThrow('enough');
  });
});
