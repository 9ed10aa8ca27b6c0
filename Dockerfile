# One node of the service. The image holds no key and no configuration: see docs/production.md.
# Name the base image by its digest for a release (CONTRIBUTING.md, «Making a release»): docker build --build-arg NODE_IMAGE=node@sha256:… .
ARG NODE_IMAGE=node:26-slim
FROM ${NODE_IMAGE}
WORKDIR /srv/svc
COPY package.json package-lock.json .npmrc ./
# The image's own Node runs it: the packages that bring one along are removed, and libsodium for other systems. Other optional
# packages stay: sharp's decoder for this platform is one.
RUN npm ci --omit=dev && rm -rf node_modules/node-linux-* node_modules/node-bin-* node_modules/sodium-native/prebuilds/[!l]*
# Only what .dockerignore lets through: the folders that the program is made of.
COPY . .
RUN mkdir /data && chown node:node /data
USER node
ENV SVC_HOME=/data/home SVC_KEYS=/data/keys SVC_LOG_TO=stdout
VOLUME /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "cli/main.ts"]
CMD ["start"]
