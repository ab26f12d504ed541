// The simulated runtime: the common suite, and what only it can do.
import { runtimeConformance } from '../conformance/runtime.ts';
import { simHarness } from '../support/runtime-sim-harness.ts';

runtimeConformance('the simulated runtime', simHarness);
