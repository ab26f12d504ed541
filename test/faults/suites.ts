// The fault suites by name. A new suite is a folder next to this file and a line here.
import { clusterSuite } from './cluster/suite.ts';
import { controllerSuite } from './controller/suite.ts';
import { etcdSuite } from './etcd/suite.ts';
import { killSuite } from './kill/suite.ts';
import { powerCutSuite } from './power-cut/suite.ts';
import type { FaultSuite } from './suite.ts';

export const faultSuites: Readonly<Record<string, FaultSuite>> = {
  cluster: clusterSuite,
  controller: controllerSuite,
  etcd: etcdSuite,
  kill: killSuite,
  'power-cut': powerCutSuite,
};
