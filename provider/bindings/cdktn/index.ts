// What apps import as `gantry/cdktn`: the generated constructs, a namespace a resource, and the shorter ways to write a stack.
export * from './generated/index.ts';
export * from './devices.ts';
export * from './gantry-stack.ts';
