import { environmentsPlugin } from './environments/plugin';
import { logPlugin } from './log/plugin';
import { clientPlugin, modelPlugin } from './model/plugin';
import { promotePlugin } from './promote/plugin';
import { runsPlugin } from './runs/plugin';

export * from './tokens';

export default [
  clientPlugin,
  modelPlugin,
  promotePlugin,
  runsPlugin,
  logPlugin,
  environmentsPlugin
];
