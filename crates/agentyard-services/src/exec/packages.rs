//! Which package to install for a module: names of imports are not names of packages.

/// Modules whose packages are called something else, in order. Of dotted names the longest that fits counts.
const PACKAGES: &[(&str, &str)] = &[
    ("Bio", "biopython"),
    ("Box2D", "box2d-py"),
    ("Crypto", "pycryptodome"),
    ("Cryptodome", "pycryptodomex"),
    ("MySQLdb", "mysqlclient"),
    ("OpenGL", "PyOpenGL"),
    ("OpenSSL", "pyOpenSSL"),
    ("PIL", "pillow"),
    ("RPi", "RPi.GPIO"),
    ("Xlib", "python-xlib"),
    ("allauth", "django-allauth"),
    ("allure", "allure-pytest"),
    ("attr", "attrs"),
    ("azure.core", "azure-core"),
    ("azure.cosmos", "azure-cosmos"),
    ("azure.identity", "azure-identity"),
    ("azure.keyvault.secrets", "azure-keyvault-secrets"),
    ("azure.servicebus", "azure-servicebus"),
    ("azure.storage.blob", "azure-storage-blob"),
    ("barcode", "python-barcode"),
    ("bluetooth", "PyBluez"),
    ("bs4", "beautifulsoup4"),
    ("bson", "pymongo"),
    ("cairo", "pycairo"),
    ("camelot", "camelot-py"),
    ("can", "python-can"),
    ("cassandra", "cassandra-driver"),
    ("clr", "pythonnet"),
    ("community", "python-louvain"),
    ("constraint", "python-constraint"),
    ("consul", "python-consul"),
    ("corsheaders", "django-cors-headers"),
    ("crispy_forms", "django-crispy-forms"),
    ("cv2", "opencv-python-headless"),
    ("databricks", "databricks-sql-connector"),
    ("dateutil", "python-dateutil"),
    ("dbus", "dbus-python"),
    ("debug_toolbar", "django-debug-toolbar"),
    ("discord", "discord.py"),
    ("distutils", "setuptools"),
    ("django_filters", "django-filter"),
    ("dns", "dnspython"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("engineio", "python-engineio"),
    ("environ", "django-environ"),
    ("factory", "factory-boy"),
    ("faiss", "faiss-cpu"),
    ("ffmpeg", "ffmpeg-python"),
    ("fitz", "PyMuPDF"),
    ("frontmatter", "python-frontmatter"),
    ("gflags", "python-gflags"),
    ("gi", "PyGObject"),
    ("git", "GitPython"),
    ("github", "PyGithub"),
    ("gitlab", "python-gitlab"),
    ("google.api_core", "google-api-core"),
    ("google.auth", "google-auth"),
    ("google.cloud.bigquery", "google-cloud-bigquery"),
    ("google.cloud.firestore", "google-cloud-firestore"),
    ("google.cloud.logging", "google-cloud-logging"),
    ("google.cloud.pubsub", "google-cloud-pubsub"),
    ("google.cloud.secretmanager", "google-cloud-secret-manager"),
    ("google.cloud.storage", "google-cloud-storage"),
    ("google.cloud.vision", "google-cloud-vision"),
    ("google.genai", "google-genai"),
    ("google.generativeai", "google-generativeai"),
    ("google.protobuf", "protobuf"),
    ("googleapiclient", "google-api-python-client"),
    ("gridfs", "pymongo"),
    ("grpc", "grpcio"),
    ("grpc_health", "grpcio-health-checking"),
    ("grpc_status", "grpcio-status"),
    ("grpc_tools", "grpcio-tools"),
    ("guardian", "django-guardian"),
    ("hid", "hidapi"),
    ("imblearn", "imbalanced-learn"),
    ("import_export", "django-import-export"),
    ("jnius", "pyjnius"),
    ("jose", "python-jose"),
    ("jpype", "JPype1"),
    ("jwt", "PyJWT"),
    ("kafka", "kafka-python"),
    ("ldap", "python-ldap"),
    ("linebot", "line-bot-sdk"),
    ("llama_cpp", "llama-cpp-python"),
    ("magic", "python-magic"),
    ("memcache", "python-memcached"),
    ("mpl_finance", "mplfinance"),
    ("mpl_toolkits", "matplotlib"),
    ("mptt", "django-mptt"),
    ("multipart", "python-multipart"),
    ("mysql", "mysql-connector-python"),
    ("nacl", "PyNaCl"),
    ("newspaper", "newspaper3k"),
    ("nmap", "python-nmap"),
    ("odf", "odfpy"),
    ("opensearchpy", "opensearch-py"),
    ("osgeo", "GDAL"),
    ("paho", "paho-mqtt"),
    ("pdfminer", "pdfminer.six"),
    ("pkg_resources", "setuptools"),
    ("pptx", "python-pptx"),
    ("psycopg2", "psycopg2-binary"),
    ("pybullet_envs", "pybullet"),
    ("pylab", "matplotlib"),
    ("pyrebase", "Pyrebase4"),
    ("pysat", "python-sat"),
    ("pywt", "PyWavelets"),
    ("pyximport", "Cython"),
    ("readability", "readability-lxml"),
    ("rediscluster", "redis-py-cluster"),
    ("rest_framework", "djangorestframework"),
    ("rest_framework_simplejwt", "djangorestframework-simplejwt"),
    ("ruamel", "ruamel.yaml"),
    ("sat", "python-sat"),
    ("serial", "pyserial"),
    ("shapefile", "pyshp"),
    ("shopify", "ShopifyAPI"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("skopt", "scikit-optimize"),
    ("sksurv", "scikit-survival"),
    ("slack", "slackclient"),
    ("slugify", "python-slugify"),
    ("smbus", "smbus2"),
    ("snappy", "python-snappy"),
    ("snmp", "pysnmp"),
    ("snowflake", "snowflake-connector-python"),
    ("socketio", "python-socketio"),
    ("socks", "PySocks"),
    ("solid", "solidpython"),
    ("speech_recognition", "SpeechRecognition"),
    ("sseclient", "sseclient-py"),
    ("stl", "numpy-stl"),
    ("storages", "django-storages"),
    ("suds", "suds-community"),
    ("tabula", "tabula-py"),
    ("taggit", "django-taggit"),
    ("talib", "TA-Lib"),
    ("telegram", "python-telegram-bot"),
    ("umap", "umap-learn"),
    ("usb", "pyusb"),
    ("vcr", "vcrpy"),
    ("vlc", "python-vlc"),
    ("vtkmodules", "vtk"),
    ("websocket", "websocket-client"),
    ("whisper", "openai-whisper"),
    ("whois", "python-whois"),
    ("win32api", "pywin32"),
    ("win32con", "pywin32"),
    ("wx", "wxPython"),
    ("xdist", "pytest-xdist"),
    ("yaml", "PyYAML"),
    ("z3", "z3-solver"),
    ("zmq", "pyzmq"),
];

/// Modules of the standard library that some interpreters come without: no package brings them.
const STANDARD: &[&str] = &[
    "_bz2", "_ctypes", "_curses", "_dbm", "_gdbm", "_lzma", "_sqlite3", "_ssl", "_tkinter", "asynchat",
    "asyncore", "bz2", "ctypes", "curses", "imp", "lzma", "nis", "readline", "smtpd", "sqlite3", "ssl",
    "tkinter", "turtle", "zoneinfo",
];

/// Names that many packages share: none of them can be told from the name alone.
const SHARED: &[&str] = &["azure", "google"];

/// The package that brings a module, as far as can be told from its name.
pub(super) fn package_of(module: &str) -> Option<String> {
    let top = module.split('.').next()?;
    if STANDARD.contains(&top) || !is_name(module) {
        return None;
    }
    let mut longest = module;
    loop {
        if let Ok(found) = PACKAGES.binary_search_by_key(&longest, |(module, _)| module) {
            return Some(PACKAGES[found].1.to_owned());
        }
        match longest.rsplit_once('.') {
            Some((shorter, _)) => longest = shorter,
            None => return (!SHARED.contains(&top)).then(|| top.to_owned()),
        }
    }
}

/// Whether this can be the name of a module, and so that of a package: the code may say anything.
fn is_name(module: &str) -> bool {
    module.len() <= 100
        && module.split('.').all(|part| {
            part.starts_with(|first: char| first.is_ascii_alphabetic())
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_by_the_longest_name() {
        for (module, package) in [
            ("cv2", "opencv-python-headless"),
            ("PIL", "pillow"),
            ("PIL.Image", "pillow"),
            ("yaml", "PyYAML"),
            ("sklearn.linear_model", "scikit-learn"),
            ("google.protobuf.message", "protobuf"),
            ("google.cloud.storage", "google-cloud-storage"),
            ("numpy", "numpy"),
            ("numpy.linalg", "numpy"),
            ("more_itertools", "more_itertools"),
        ] {
            assert_eq!(package_of(module).as_deref(), Some(package), "{module}");
        }
    }

    #[test]
    fn the_standard_library_is_not_installed_and_nothing_is_smuggled_in() {
        for module in [
            "google",
            "google.cloud",
            "tkinter",
            "sqlite3",
            "_ctypes",
            "",
            ".",
            "-r",
            "--index-url",
            "a b",
            "a;b",
            "../x",
            "a[b]",
            "http://x",
            "x\n",
        ] {
            assert_eq!(package_of(module), None, "{module:?}");
        }
        assert_eq!(package_of(&"x".repeat(101)), None);
    }

    #[test]
    fn the_list_is_in_order_and_can_be_searched() {
        assert!(PACKAGES.is_sorted_by(|one, other| one.0 < other.0));
    }
}
