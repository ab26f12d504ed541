// The module `gantry/cdktn` for apps: the generated constructs, one namespace for each resource, and the short methods of a stack.
export * from './generated/index.ts';
export * from './devices.ts';
export * from './gantry-stack.ts';
