package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	local     = "127.0.0.1" // the services speak among themselves here
	here      = "active"    // the name of the only cluster
	store     = "sqlite"
	retention = 30 * 24 * time.Hour
)

// serve runs the server until it gets SIGINT or SIGTERM.
func serve(s settings, w io.Writer) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	conf, err := configuration(s)
	if err != nil {
		return err
	}
	if err := prepare(s, conf.Persistence.DataStores[store].SQL); err != nil {
		return err
	}
	server, err := temporal.NewServer(options(s, conf)...)
	if err != nil {
		return fmt.Errorf("build the server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	fmt.Fprintf(w, "temporal-server is ready on %s\n", conf.PublicClient.HostPort)
	<-stop
	return server.Stop()
}

// configuration is that of all services in one process.
func configuration(s settings) (*config.Config, error) {
	address := net.JoinHostPort(s.ip, strconv.Itoa(s.port))
	c := &config.Config{}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: local}
	c.Persistence = config.Persistence{
		DefaultStore: store, VisibilityStore: store, NumHistoryShards: 1,
		DataStores: map[string]config.DataStore{store: {SQL: &config.SQL{
			PluginName: sqliteplugin.PluginName, DatabaseName: s.db,
			ConnectAttributes: map[string]string{
				"mode": "rwc", "journal_mode": "wal", "synchronous": "full", "busy_timeout": "10000",
			},
		}}},
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: here, CurrentClusterName: here,
		ClusterInformation: map[string]cluster.ClusterInformation{here: {
			Enabled: true, InitialFailoverVersion: 1, RPCAddress: address,
			ClusterID: "0c5b2e9f-5b0a-4a3e-9a58-6f1d8a9f4c11",
		}},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State = "disabled"
	c.NamespaceDefaults.Archival.Visibility.State = "disabled"
	c.PublicClient.HostPort = address
	c.Services = map[string]config.Service{
		"frontend": {RPC: config.RPC{GRPCPort: s.port, BindOnIP: s.ip}},
	}
	for _, name := range []string{"history", "matching", "worker"} {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		c.Services[name] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: local}}
	}
	return c, nil
}

// freePort is a port that nothing listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(local, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// prepare makes the database where it is missing, and the namespaces in it.
func prepare(s settings, conf *config.SQL) error {
	if _, err := os.Stat(s.db); errors.Is(err, fs.ErrNotExist) {
		if err := sqlite.SetupSchema(conf); err != nil {
			return fmt.Errorf("make the schema in %s: %w", s.db, err)
		}
	}
	attributes := map[string]enums.IndexedValueType{}
	for _, name := range s.attributes {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	for _, name := range s.lists {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD_LIST
	}
	for _, name := range s.namespaces {
		ns, err := sqlite.NewNamespaceConfig(here, name, false, attributes)
		if err != nil {
			return fmt.Errorf("describe the namespace %s: %w", name, err)
		}
		ns.Detail.Config.Retention = durationpb.New(retention)
		if err := sqlite.CreateNamespaces(conf, ns); err != nil {
			return fmt.Errorf("create the namespace %s: %w", name, err)
		}
	}
	return nil
}

// options are what the server is built from, beside its configuration.
func options(s settings, c *config.Config) []temporal.ServerOption {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, service := range c.Services {
		at := net.JoinHostPort(service.RPC.BindOnIP, strconv.Itoa(service.RPC.GRPCPort))
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(at)
	}
	return []temporal.ServerOption{
		temporal.WithConfig(c),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: s.log}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 8096,
			dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 200,
		}),
	}
}
