// The dashboard and the alert rules in examples/observability: every metric that they name exists, and promtool accepts the rules.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ControllerMetrics } from '../../reconciler/controller/http/metrics.ts';
import { FakeController } from '../support/controller/fake-controller.ts';

const folder = resolve(import.meta.dirname, '../../examples/observability');
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
const metrics = new ControllerMetrics(new FakeController());
afterAll(() => metrics.close());

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}
interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const rules: Rules = parse(read('prometheus/alerts.yaml'));
const dashboard: Dashboard = JSON.parse(read('grafana/controller.json'));
const named = (expression: string): readonly string[] => expression.match(/\b(?:gantry|process|nodejs)_\w+/g) ?? [];
const alerts = rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const));
const panels = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));

test.each([...alerts, ...panels])('%s asks for metrics that the controller has', async (_, expression) => {
  const names = named(expression);
  expect(names).not.toEqual([]);
  const known = await metrics.names();
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
});

test('alerts have names of their own', () => {
  const names = alerts.map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(5);
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) console.log('skipped: the alert rules in promtool: it is not installed (package prometheus)');
test.skipIf(!hasPromtool)('promtool accepts the alert rules', () => {
  expect(execFileSync('promtool', ['check', 'rules', join(folder, 'prometheus/alerts.yaml')]).toString()).toContain(
    'SUCCESS',
  );
});

test.skipIf(!hasPromtool)('promtool accepts the jobs', () => {
  const file = join(folder, 'prometheus/prometheus.yaml');
  expect(execFileSync('promtool', ['check', 'config', '--syntax-only', file]).toString()).toContain('SUCCESS');
});
