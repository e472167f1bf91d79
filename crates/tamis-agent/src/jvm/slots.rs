//! Places in the function tables. Tables of pointers: the place is the index.

/// `JNIInvokeInterface`.
pub(crate) mod vm {
    pub(crate) const GET_ENV: usize = 6;
}

macro_rules! slots {
    ($($name:ident = $slot:literal => $function:literal;)*) => {
        $(pub(crate) const $name: usize = $slot;)*
        #[cfg(test)]
        pub(crate) const ALL: &[(usize, &str)] = &[$(($slot, $function)),*];
    };
}

/// `JNINativeInterface`.
pub(crate) mod jni {
    slots! {
        DEFINE_CLASS = 5 => "DefineClass";
        FIND_CLASS = 6 => "FindClass";
        TO_REFLECTED_FIELD = 12 => "ToReflectedField";
        EXCEPTION_CLEAR = 17 => "ExceptionClear";
        NEW_GLOBAL_REF = 21 => "NewGlobalRef";
        DELETE_LOCAL_REF = 23 => "DeleteLocalRef";
        IS_SAME_OBJECT = 24 => "IsSameObject";
        NEW_LOCAL_REF = 25 => "NewLocalRef";
        GET_OBJECT_CLASS = 31 => "GetObjectClass";
        GET_METHOD_ID = 33 => "GetMethodID";
        CALL_OBJECT_METHOD_A = 36 => "CallObjectMethodA";
        CALL_VOID_METHOD_A = 63 => "CallVoidMethodA";
        GET_FIELD_ID = 94 => "GetFieldID";
        GET_OBJECT_FIELD = 95 => "GetObjectField";
        GET_STATIC_METHOD_ID = 113 => "GetStaticMethodID";
        CALL_STATIC_OBJECT_METHOD_A = 116 => "CallStaticObjectMethodA";
        GET_STATIC_FIELD_ID = 144 => "GetStaticFieldID";
        SET_STATIC_OBJECT_FIELD = 154 => "SetStaticObjectField";
        NEW_STRING = 163 => "NewString";
        GET_STRING_LENGTH = 164 => "GetStringLength";
        GET_ARRAY_LENGTH = 171 => "GetArrayLength";
        NEW_OBJECT_ARRAY = 172 => "NewObjectArray";
        GET_OBJECT_ARRAY_ELEMENT = 173 => "GetObjectArrayElement";
        SET_OBJECT_ARRAY_ELEMENT = 174 => "SetObjectArrayElement";
        NEW_INT_ARRAY = 179 => "NewIntArray";
        GET_BYTE_ARRAY_REGION = 200 => "GetByteArrayRegion";
        GET_INT_ARRAY_REGION = 203 => "GetIntArrayRegion";
        GET_LONG_ARRAY_REGION = 204 => "GetLongArrayRegion";
        SET_INT_ARRAY_REGION = 211 => "SetIntArrayRegion";
        GET_STRING_REGION = 220 => "GetStringRegion";
        NEW_WEAK_GLOBAL_REF = 226 => "NewWeakGlobalRef";
        DELETE_WEAK_GLOBAL_REF = 227 => "DeleteWeakGlobalRef";
        EXCEPTION_CHECK = 228 => "ExceptionCheck";
    }
}

/// `jvmtiInterface_1`; the headers count from one.
pub(crate) mod jvmti {
    slots! {
        SET_EVENT_NOTIFICATION_MODE = 1 => "SetEventNotificationMode";
        GET_ALL_THREADS = 3 => "GetAllThreads";
        ALLOCATE = 45 => "Allocate";
        DEALLOCATE = 46 => "Deallocate";
        GET_CLASS_SIGNATURE = 47 => "GetClassSignature";
        GET_CLASS_STATUS = 48 => "GetClassStatus";
        GET_CLASS_FIELDS = 52 => "GetClassFields";
        GET_OBJECT_HASH_CODE = 57 => "GetObjectHashCode";
        GET_FIELD_NAME = 59 => "GetFieldName";
        GET_FIELD_MODIFIERS = 61 => "GetFieldModifiers";
        GET_METHOD_NAME = 63 => "GetMethodName";
        GET_METHOD_DECLARING_CLASS = 64 => "GetMethodDeclaringClass";
        GET_ALL_STACK_TRACES = 99 => "GetAllStackTraces";
        SET_EVENT_CALLBACKS = 121 => "SetEventCallbacks";
        ADD_CAPABILITIES = 141 => "AddCapabilities";
        RETRANSFORM_CLASSES = 151 => "RetransformClasses";
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use tamis_testkit::jdks;

    /// The functions of a table in order, from the text of a header.
    fn table(header: &str, structure: &str) -> Vec<String> {
        let start = header.find(structure).expect("the table is in the header");
        let body = &header[start..];
        let body = &body[..body.find("\n}").expect("the table ends")];
        let mut functions = Vec::new();
        for line in body.lines() {
            if let Some((_, rest)) = line.split_once("JNICALL *") {
                functions.push(rest.split(')').next().unwrap_or("").trim().to_owned());
            } else if line.trim_start().starts_with("void *reserved") {
                functions.push(String::new());
            }
        }
        functions
    }

    #[test]
    fn every_place_is_the_one_of_the_headers() {
        let mut compared = 0;
        for jdk in jdks() {
            let include = jdk.home.join("include");
            let (Ok(jni), Ok(jvmti)) = (
                fs::read_to_string(include.join("jni.h")),
                fs::read_to_string(include.join("jvmti.h")),
            ) else {
                continue;
            };
            let tables = [
                (table(&jni, "struct JNINativeInterface_ {"), super::jni::ALL),
                (table(&jvmti, "typedef struct jvmtiInterface_1_ {"), super::jvmti::ALL),
                (table(&jni, "struct JNIInvokeInterface_ {"), &[(super::vm::GET_ENV, "GetEnv")]),
            ];
            for (functions, ours) in tables {
                for (slot, name) in ours {
                    assert_eq!(functions.get(*slot).map(String::as_str), Some(*name), "{jdk:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 0, "no JDK here has its header files");
    }
}
