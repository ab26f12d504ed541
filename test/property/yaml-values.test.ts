// The fast reader of plain YAML and the reader with positions are two parsers: both agree on every text that the first accepts.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseWithPlaces } from '../../reconciler/manifest/text/parse-yaml.ts';
import { quickYaml } from '../../reconciler/manifest/text/quick-yaml.ts';

const runs = Number(process.env['PROPERTY_RUNS'] ?? 2) * 500;

const manifests = [
  "kind: container\nname: web1\nprofiles: [default, 'web']\nsource: { type: image, alias: debian/12 }\nconfig:\n" +
    '  limits.memory: 128MiB\n  user.x: "1"\n  user.user-data: |\n    #cloud-config\n    packages: [a]\n\n    runcmd:\n' +
    '      - echo "hi"\ndevices:\n  root: { type: disk, path: /, pool: default }\n  eth0:\n    type: nic\n' +
    '    nictype: bridged # c\nstate: stopped\n---\n# comment\nkind: profile\nname: p\nconfig: { user.note: a }\n' +
    'manage:\n  wait:\n  - ipv4\n  - tcp: 80\n',
  'apiVersion: v1\nkind: network\nmetadata: {name: n, labels: {a: b}}\nspec:\n  config: {ipv4.address: 10.0.0.1/24,\n' +
    "    ipv4.nat: true}\n  list:\n    - a: 1\n      b: [x,\n        y]\n    - - q\n      - 'r'\n",
  'a: |-\n   x\n    y\n\nc: |+\n    z\n\nd: |2\n    e\nf: "g # h"\n? i\n: j\n\'k l\': ~\nm:\nn: [ {o: p}, q: r, ]\n',
] as const;

// Special characters, and texts with special characters at unusual places.
const piece = fc.constantFrom(
  'a',
  'b:',
  'c: ',
  ': ',
  ':',
  '- ',
  '-',
  '? ',
  '{',
  '}',
  '[',
  ']',
  ',',
  ', ',
  '"x"',
  '"x',
  "'y'",
  "'",
  '"\\n"',
  '"\\""',
  '"\\x41"',
  '#c',
  ' # c',
  '|',
  '>',
  '|-',
  '|2',
  '|+\n',
  '&a ',
  '*a',
  '!t ',
  '!!str ',
  '---',
  '...',
  '\n',
  '\n  ',
  '\n    ',
  '\n- ',
  '\n  - ',
  '\na: ',
  '\nb: ',
  '\n  c: ',
  '\n---\n',
  '\n--- ',
  '\n...\n',
  ' ',
  '  ',
  'true',
  'null',
  '~',
  '1',
  '1.0',
  '0x1',
  '<<: ',
  '"q": ',
  'x y',
  'http://a',
  'a#b',
  'a:b',
  '%',
  '@',
  '`',
  '\t',
  '\r\n',
  '\\',
  '.inf',
  'config: ',
  'devices: ',
  '{a: b}',
  '[{a: b}]',
  'x: |\n  t\n',
  'x: >\n  t\n  u\n',
  'Yes',
);
const soup = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''));
const edit = fc.record({ at: fc.nat(1000), cut: fc.nat(3), put: fc.oneof(piece, fc.constant('')) });
const edited = fc
  .tuple(fc.constantFrom(...manifests), fc.array(edit, { maxLength: 3 }))
  .map(([text, edits]) => edits.reduce(changed, text));

function changed(text: string, { at, cut, put }: { readonly at: number; readonly cut: number; readonly put: string }) {
  const from = at % (text.length + 1);
  return text.slice(0, from) + put + text.slice(from + cut);
}

test('Both readers of YAML give the same values at the same places for every text that the fast one accepts', () => {
  fc.assert(
    fc.property(fc.oneof(soup, edited), (text) => {
      const quick = quickYaml(text);
      if (quick === undefined) return;
      const { documents, problems } = parseWithPlaces(text);
      expect(problems).toEqual([]);
      // As text, so that the order of the keys counts.
      expect(JSON.stringify(quick)).toBe(JSON.stringify(documents.map(({ value, offset }) => ({ value, offset }))));
    }),
    { numRuns: runs },
  );
});

test('A text of many documents is read in parts, each with its place in the whole', () => {
  const text = Array.from({ length: 30 }, (_, index) => `# ${index}\n${manifests[index % 2]}`).join('---\n');
  expect(quickYaml(text)).toEqual(parseWithPlaces(text).documents.map(({ value, offset }) => ({ value, offset })));
});

test('The fast reader accepts the usual style of manifests', () => {
  expect(quickYaml(manifests[0])).toHaveLength(2);
  expect(quickYaml(manifests[1])).toHaveLength(1);
});

test.each([
  'a: &x 1\nb: *x\n',
  'a: !t 1\n',
  'a: 1\na: 2\n',
  '<<: {a: b}\n',
  '1: a\n',
  '- a\n',
  '%YAML 1.2\n---\na: b\n',
  ' %a\n---\n',
])('The fast reader leaves %j to the reader with positions', (text) => {
  expect(quickYaml(text)).toBeUndefined();
});
