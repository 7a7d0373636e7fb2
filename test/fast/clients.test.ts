// The two clients that every Node has; `npm run test:clients` drives all of them.
import { testClient } from '../support/clientMatrix.ts';
import { nodeFetch, nodeHttp } from '../support/nodeClients.ts';

testClient(nodeFetch);
testClient(nodeHttp);
